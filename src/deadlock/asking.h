// A rank that asks again and again (looks.h) is in no wait for most of the time: it naps seldom or,
// by its policy, never. Lists of ranks (report.h) are to say of it all the same what it asks and
// since when. So every 64th look in vain is noted in the rank's report, and of a thread rank when
// the first one was; what was noted long ago is not shown. Of the rank, its lock held.
#pragma once

#include <cstdint>

namespace meantime {
struct Rank;
}

namespace meantime::wait {

inline constexpr std::uint32_t looks_a_note = 64;
/// A note that is older than this is of something that is over.
inline constexpr std::uint64_t note_lasts_ns = 200'000'000;

/// The call that the rank is in found nothing, for the `number`th time in a row.
void note_look_in_vain(Rank& rank, std::uint32_t number);
/// The latest look has lasted until now: 64 of them may take longer than a note is good for.
void note_nap(Rank& rank, std::uint32_t in_vain, std::uint64_t now_ns);
/// Since when the rank has been asking, after so many looks in vain, if that is known of before
/// `since_ns`: a thread rank's series of looks begins anew wherever others have its core for long.
std::uint64_t asking_since_ns(const Rank& rank, std::uint32_t in_vain, std::uint64_t since_ns);
/// It found something, after so many that did not.
void note_look_found(Rank& rank, std::uint32_t in_vain);

}  // namespace meantime::wait
