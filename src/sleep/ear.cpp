#include "sleep/ear.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "base/clock.h"
#include "node/segment.h"
#include "rank/rank.h"
#include "sleep/idle_work.h"

namespace meantime::wait {

constinit Ear* detail::host_ear = nullptr;

namespace {

/// Numbers of files in memory are one for all of the kernel's pipes.
bool is_bell(int descriptor, const node::RankArea& of) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && S_ISFIFO(status.st_mode) &&
         status.st_ino == of.bell_file.load(std::memory_order_relaxed);
}

/// -1 and errno: it cannot be opened, or is another one. (To be read, too, though nobody does: a
/// ring that comes when the other process has ended would raise SIGPIPE.)
int take(const node::RankArea& of) {
  const int there = of.bell.load(std::memory_order_acquire) - 1;
  const int descriptor =
      open(fmt::format("/proc/{}/fd/{}", of.pid.load(std::memory_order_relaxed), there).c_str(),
           O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (descriptor >= 0 && !is_bell(descriptor, of)) {
    close(descriptor);
    errno = ENOENT;
    return -1;
  }
  return descriptor;
}

}  // namespace

bool hears_for_itself() {
  const Ear* const of_host = ear();
  return of_host != nullptr && !self().lock.enabled() && of_host->is_held_by_all() &&
         idle_work() == nullptr;
}

Ear::Ear(int first_rank, int ranks, std::vector<int> of_node)
    : first_rank_(first_rank),
      ranks_(ranks),
      of_node_(std::move(of_node)),
      bells_(std::make_unique<Bell[]>(of_node_.size())) {}

int Ear::open(int network) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    return errno;
  }
  struct stat status {};
  fstat(ends[1], &status);
  network_ = network;
  rung_ = ends[0];
  node::RankArea& area = node::segment().area(first_rank_);
  area.bell_file.store(status.st_ino, std::memory_order_relaxed);
  area.bell.store(ends[1] + 1, std::memory_order_release);
  node::segment().header().bells.fetch_add(1, std::memory_order_release);
  return 0;
}

bool Ear::is_held_by_all() const {
  const node::Segment& segment = node::segment();
  return rung_ >= 0 && segment.area(first_rank_).bell_holders.load(std::memory_order_acquire) ==
                           segment.header().ranks_here;
}

bool Ear::has_bells_to_hold() const {
  return node::segment().header().bells.load(std::memory_order_relaxed) !=
         bells_seen_.load(std::memory_order_relaxed);
}

void Ear::hold_bells() {
  const LockGuard guard(lock_);
  bells_seen_.store(node::segment().header().bells.load(std::memory_order_acquire),
                    std::memory_order_relaxed);
  for (std::size_t place = 0; place < of_node_.size(); ++place) {
    Bell& bell = bells_[place];
    node::RankArea& of = node::segment().area(of_node_[place]);
    if (bell.is_refused || bell.descriptor.load(std::memory_order_relaxed) >= 0 ||
        of.bell.load(std::memory_order_acquire) == 0) {
      continue;
    }
    const int descriptor = take(of);
    bell.is_refused = descriptor < 0;
    if (descriptor >= 0) {
      bell.descriptor.store(descriptor, std::memory_order_release);
      of.bell_holders.fetch_add(static_cast<std::uint32_t>(ranks_), std::memory_order_acq_rel);
    }
  }
}

// Nothing is read from a file that the program has opened under the number of a bell that it has
// closed.
bool Ear::hear(std::uint64_t until_ns) const {
  if (!is_bell(rung_, node::segment().area(first_rank_))) {
    unheard_hook(first_rank_, EBADF);
  }
  pollfd heard[] = {{network_, POLLIN, 0}, {rung_, POLLIN, 0}};
  constexpr std::uint64_t second = 1'000'000'000;
  timespec left{};
  if (until_ns != ~std::uint64_t{0}) {
    const std::uint64_t now = now_ns();
    const std::uint64_t rest = until_ns > now ? until_ns - now : 0;
    left = {static_cast<time_t>(rest / second), static_cast<long>(rest % second)};
  }
  if (ppoll(heard, 2, until_ns == ~std::uint64_t{0} ? nullptr : &left, nullptr) <= 0) {
    return false;
  }
  if (heard[1].revents != 0) {
    char rings[64];
    while (read(rung_, rings, sizeof rings) == sizeof rings) {
    }
  }
  return heard[0].revents != 0;
}

int Ear::taken_again(int world_rank, Bell& bell) {
  const LockGuard guard(lock_);
  const int descriptor = take(node::segment().area(world_rank));
  if (descriptor < 0) {
    unheard_hook(world_rank, errno);
  }
  bell.descriptor.store(descriptor, std::memory_order_release);
  return descriptor;
}

// The byte is not written into a file that the program has opened under the number of a bell that
// it has closed.
void Ear::ring(int world_rank) {
  const auto place = std::lower_bound(of_node_.begin(), of_node_.end(), world_rank);
  Bell& bell = bells_[static_cast<std::size_t>(place - of_node_.begin())];
  int descriptor = bell.descriptor.load(std::memory_order_acquire);
  if (!is_bell(descriptor, node::segment().area(world_rank))) {
    descriptor = taken_again(world_rank, bell);
  }
  const char byte = 0;
  [[maybe_unused]] const ssize_t written = write(descriptor, &byte, 1);  // full: it is rung already
}

}  // namespace meantime::wait
