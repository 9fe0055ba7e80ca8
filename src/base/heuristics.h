// The learners and heuristics that are on trial: each can be left out, for bench/heuristics, which
// says what it brings (docs/measurements/heuristics.md).
//   heuristic   a rule with a tuned constant, or something that adapts to what it saw. There is one
//               place where it asks whether it is in use, and does the plain thing if not
// Ordinary builds use all of them, which the compiler knows. With -DMEANTIME_TRIALS=ON the
// environment variable MEANTIME_TEST_WITHOUT leaves some out: a number with a bit for each, in this
// order. So all variants are one program, and differ in nothing else.
#pragma once

#include <cstdint>

#if defined(MEANTIME_TRIALS)
#include <cstdlib>
#endif

namespace meantime {

/// What each decides; what is done without it. (bench/heuristics reads these lines.)
enum class Heuristic : std::uint8_t {
  patience,        ///< how long `adaptive` polls at a call site; always six wake-ups
  few_looks,       ///< 8 looks before a sleep where waits were long lately; 64
  contention,      ///< who loses its core while it polls waits as where cores are shared; never
  yields,          ///< a wait in a crowd begins with up to 24 yields; with none
  yield_skips,     ///< after yields in vain waits begin without; all begin with yields
  yield_savings,   ///< after a lost slice waits sleep until it is earned; they yield at once
  polling_yields,  ///< who polls yields now and then; never
  spreading,       ///< who shares a CPU with another poller moves; never
  test_yields,  ///< after 4 looks of the program's own in a crowd, 1 of a thread rank, others run;
                ///< 1000
  crowd_looks,  ///< one look in a crowd; 32 as elsewhere
  naps,         ///< a series of looks of the program's own sleeps; never
  nap_work,     ///< small steps between looks make naps rarer; are not noticed
  windows,      ///< `predicted` expects a message at either of two times; once
  lateness,     ///< how late timers are here is learnt; 45 and 60 us
  route,        ///< a message goes by the way that was quicker; up to 128 KiB by a cell
  eager_ring,   ///< a ring from a sender of many short messages; none
  private_receives,   ///< short receives of an awake rank are its own; all lie in its mailbox
  lanes,              ///< any-source receives take turns among many senders; by arrival, not fair
  gathering,          ///< thread ranks of a worker arrive together at a meeting; one by one
  exposed_alltoall,   ///< long blocks of an alltoall are read where they lie; deposited
  exposed_allgather,  ///< the same in an allgather of thread ranks; deposited
  exposed_bcast,      ///< the same in a broadcast of thread ranks; deposited
  exposed_scatter,    ///< the same in a scatter of thread ranks; deposited
  exposed_inputs,     ///< the same in a reduction of thread ranks; deposited
  past_caches,        ///< what does not fit the caches is stored past them; through them
  return_savings,     ///< a worker polls for napping ranks as it can afford; as for those in MPI
  strays_home,        ///< stolen ranks that only take turns go home; they stay
  warm_up,            ///< what the next fiber needs is fetched while one runs; is not
  sampling,           ///< of short waits some are timed for all; each is
};

#if defined(MEANTIME_TRIALS)
namespace detail {
inline const std::uint64_t heuristics_left_out = [] {
  const char* const text = std::getenv("MEANTIME_TEST_WITHOUT");
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 0);
}();
}  // namespace detail

inline bool uses(Heuristic one) {
  return (detail::heuristics_left_out >> static_cast<int>(one) & 1) == 0;
}
#else
constexpr bool uses(Heuristic) {
  return true;
}
#endif

}  // namespace meantime
