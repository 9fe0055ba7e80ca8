#include "relay.h"

#include <linux/if_ether.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace meantime::tools {
namespace {

/// On the way, of all together: many times what TCP has under way by itself.
constexpr std::size_t most_bytes = 1 << 30;

}  // namespace

Relay::Relay(std::vector<PacketPort> ports, std::uint64_t delay_ns,
             const std::optional<Line::Limit>& limit)
    : ports_(std::move(ports)), lines_(ports_.size(), Line(delay_ns, limit)) {}

void Relay::run() {
  prctl(PR_SET_TIMERSLACK, 1);
  // A wire waits for no CPU. (Else helpers that wake up on the CPUs of two nodes seem to cost 3.5
  // %: what is due waits for ranks that compute, 0.3 ms of 1 ms.) For root; others go on without.
  const sched_param lowest{.sched_priority = 1};
  sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);  // or each packet's memory would come anew from the kernel
  std::vector<pollfd> waiting;
  for (const PacketPort& port : ports_) {
    waiting.push_back({port.descriptor(), POLLIN, 0});
  }
  for (;;) {
    timespec until_due{};
    if (!packets_.empty()) {
      const std::uint64_t due = packets_.begin()->first, now = now_ns();
      const std::uint64_t left = due - std::min(due, now);
      until_due = {static_cast<time_t>(left / 1'000'000'000),
                   static_cast<long>(left % 1'000'000'000)};
    }
    ppoll(waiting.data(), waiting.size(), packets_.empty() ? nullptr : &until_due, nullptr);
    for (pollfd& each : waiting) {
      if ((each.revents & POLLERR) != 0) {
        each.fd = -1;  // somebody has taken the node's device away
      }
    }
    take_all();
    send_what_is_due();
  }
}

// The kernel says when a packet came, by a clock that somebody may set, so only how long ago that
// was is taken from it: then that this thread had to wait for a CPU does not add to the delay.
void Relay::take_all() {
  const std::uint64_t now = now_ns(), wall_clock = clock_ns(CLOCK_REALTIME);
  for (std::size_t from = 0; from < ports_.size(); ++from) {
    ports_[from].take_all([&](std::uint64_t came, std::string_view packet) {
      const std::uint64_t ago = wall_clock - std::min(wall_clock, came);
      take(from, now - std::min(now, ago), packet);
    });
  }
}

void Relay::take(std::size_t from, std::uint64_t came_ns, std::string_view packet) {
  const unsigned char* const address = PacketPort::destination(packet);
  const bool is_for_all = (address[0] & 1) != 0;
  const std::size_t named = address[ETH_ALEN - 1];
  for (std::size_t to = 0; to < ports_.size(); ++to) {
    if (to != from && (is_for_all || to + 1 == named)) {
      hold(to, came_ns, packet);
    }
  }
}

void Relay::hold(std::size_t to, std::uint64_t came_ns, std::string_view packet) {
  if (bytes_ + packet.size() > most_bytes) {
    return;
  }
  if (const auto due = lines_[to].due(came_ns, packet.size())) {
    packets_.emplace(*due, Held{to, std::string(packet)});
    bytes_ += packet.size();
  }
}

void Relay::send_what_is_due() {
  while (!packets_.empty() && packets_.begin()->first <= now_ns()) {
    const Held& first = packets_.begin()->second;
    ports_[first.to].send(first.packet);
    bytes_ -= first.packet.size();
    packets_.erase(packets_.begin());
  }
}

}  // namespace meantime::tools
