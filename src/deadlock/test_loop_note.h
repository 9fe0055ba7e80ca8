// A rank that tests again and again (test_loop.h) is in no wait for most of the time: it naps
// seldom or, by its policy, never. Lists of ranks (report.h) are to say of it all the same what it
// tests and since when. So every 64th test in vain is noted in the rank's report, and of a thread
// rank when the first one was; what was noted long ago is not shown. Of the rank, its lock held.
#pragma once

#include <cstdint>

namespace meantime {
struct Rank;
}

namespace meantime::wait {

inline constexpr std::uint32_t tests_a_note = 64;
/// A note that is older than this is of something that is over.
inline constexpr std::uint64_t note_lasts_ns = 200'000'000;

/// The call that the rank is in found nothing, for the `number`th time in a row.
void note_test_in_vain(Rank& rank, std::uint32_t number);
/// The latest test has lasted until now: 64 of them may take longer than a note is good for.
void note_nap(Rank& rank, std::uint32_t in_vain, std::uint64_t now_ns);
/// Since when the rank has been testing, after so many tests in vain, if that is known of before
/// `since_ns`: a thread rank's series of tests begins anew wherever others have its core for long.
std::uint64_t test_loop_since_ns(const Rank& rank, std::uint32_t in_vain, std::uint64_t since_ns);
/// It found something, after so many that did not.
void note_test_found(Rank& rank, std::uint32_t in_vain);

}  // namespace meantime::wait
