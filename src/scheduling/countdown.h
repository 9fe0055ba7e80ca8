// MEANTIME_ENERGY=countdown of thread ranks: it is their worker that has a CPU. A worker that has
// had nothing to run for so long asks mpiexec for a lower frequency of its CPU; the end of the idle
// time asks for the normal one, before ranks run.
//
// Why no CPU stays low while ranks run there.
//   who asks  the carrier that finds its worker idle, for the length of one idle time. While that
//             lasts the worker runs no fiber, so it is not handed over (Worker::hand_over): the
//             carrier that asks for the lower frequency is the one that takes it back. The next to
//             ask, be it another carrier, has got the worker from it, and what it sends comes after
//             that in the same socket.
//   thieves   a stolen rank runs on the thief's worker, whose own idle time ends with the theft.
//   offloaded a rank that was handed over computes on the worker's CPU, or sleeps in the kernel; it
//             is counted in Worker::offloaded_ until it is back on the list, and a worker with such
//             a rank asks for nothing. That count rises only by a fiber that runs, so an idle time
//             that begins without has none until it ends.
//   the end   a host that ends, or is killed, with a request open: the supervisor takes it back.
#pragma once

#include <cstdint>
#include <functional>

namespace meantime::ranks {

/// Its number in the node; true: low. Returns whether that could be asked.
using FrequencyRequest = std::function<bool(int worker, bool low)>;

/// All workers of this host do so from now on, after so long. Before they begin; without it they
/// never ask.
void lower_idle_workers(std::uint64_t after_ns, FrequencyRequest request);

namespace detail {
inline constexpr std::uint64_t no_countdown = ~std::uint64_t{0};
extern constinit std::uint64_t countdown_ns;  ///< written before the workers begin
}  // namespace detail

/// One idle time of a worker, by its carrier.
class Countdown {
 public:
  /// `quiet`: none of its ranks is offloaded.
  Countdown(int worker, bool quiet, std::uint64_t began_ns) : worker_(worker), began_ns_(began_ns) {
    if (detail::countdown_ns != detail::no_countdown && quiet) [[unlikely]] {
      next_ns_ = began_ns + detail::countdown_ns;
    }
  }
  ~Countdown() {
    if (low_) [[unlikely]] {
      take_back();
    }
  }
  Countdown(const Countdown&) = delete;
  Countdown& operator=(const Countdown&) = delete;

  /// When it is to be asked (CLOCK_MONOTONIC); far away if never.
  std::uint64_t next_ns() const { return next_ns_; }
  void ask(std::uint64_t now_ns);

 private:
  void take_back() const;

  const int worker_;
  bool low_ = false;
  const std::uint64_t began_ns_;
  std::uint64_t next_ns_ = detail::no_countdown;
};

}  // namespace meantime::ranks
