#include "scheduling/countdown.h"

#include <utility>

#include "policy/policy.h"

namespace meantime::ranks {

constinit std::uint64_t detail::countdown_ns = detail::no_countdown;

namespace {

/// mpiexec was too slow to be asked.
constexpr std::uint64_t try_again_ns = 1'000'000;

/// Never destroyed: workers may idle while the process ends.
FrequencyRequest& request_of_host() {
  static auto& request = *new FrequencyRequest;
  return request;
}

}  // namespace

void lower_idle_workers(std::uint64_t after_ns, FrequencyRequest request) {
  request_of_host() = std::move(request);
  detail::countdown_ns = after_ns;
}

void Countdown::ask(std::uint64_t now_ns) {
  low_ = request_of_host()(worker_, true);
  const bool again = !low_ && now_ns - began_ns_ < wait::longest_without_sleep_ns;
  next_ns_ = again ? now_ns + try_again_ns : detail::no_countdown;
}

void Countdown::take_back() const {
  request_of_host()(worker_, false);
}

}  // namespace meantime::ranks
