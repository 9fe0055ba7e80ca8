#include "policy/spreading.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "node/segment.h"

namespace meantime::wait {
namespace {

// A move costs some 50 us. Where it does not last, because others than this job's ranks keep the
// CPUs busy, it is tried ever more rarely.
constexpr std::uint64_t first_pause_ns = 5'000'000;
constexpr std::uint64_t longest_pause_ns = 1'000'000'000;

// Somebody (taskset, a resource manager) may bind this thread to other CPUs meanwhile: what he says
// stands. The move itself takes 50 us; between the last look and the last call there is no time to
// speak of.
void move_to(int cpu, const cpu_set_t& mask, bool& bound) {
  cpu_set_t there;
  CPU_ZERO(&there);
  CPU_SET(cpu, &there);
  cpu_set_t now;
  if (sched_setaffinity(0, sizeof there, &there) == 0 &&
      sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &there)) {
    give_back_affinity(mask, bound);
  }
}

}  // namespace

// The kernel remembers what a thread has asked for, and when its cpuset is widened later gives it
// of that only. So all CPUs are asked for, of which it gets those of its cpuset.
void give_back_affinity(const cpu_set_t& mask, bool& bound) {
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  cpu_set_t now;
  if (!bound && sched_setaffinity(0, sizeof all, &all) == 0 &&
      sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &mask)) {
    return;
  }
  bound = true;
  sched_setaffinity(0, sizeof mask, &mask);
}

int free_cpu(const cpu_set_t& mask, int here, const std::vector<int>& others) {
  // From the next one on, so that several who leave one CPU do not all go to the same.
  for (int step = 1; step < CPU_SETSIZE; ++step) {
    const int cpu = (here + step) % CPU_SETSIZE;
    if (CPU_ISSET(cpu, &mask) && std::find(others.begin(), others.end(), cpu) == others.end()) {
      return cpu;
    }
  }
  return -1;
}

// What others say of themselves may be out of date by 64 of their yields; then somebody moves in
// vain, and the next look puts it right. Of two that share a CPU the one with the lower number
// stays, or both would move for ever.
void Spreading::look(int world_rank, int world_size) {
  const int here = sched_getcpu();
  node::RankArea& mine = node::segment().area(world_rank);
  mine.cpu.store(here + 1, std::memory_order_relaxed);
  std::vector<int> others;
  bool give_way = false;
  node::Segment& segment = node::segment();
  for (int other = 0; other < world_size; ++other) {
    const node::RankArea& area = segment.area(other);
    const int cpu = area.cpu.load(std::memory_order_relaxed) - 1;
    if (other != world_rank && cpu >= 0 &&
        area.mailbox.pollers.load(std::memory_order_relaxed) != 0) {
      others.push_back(cpu);
      give_way = give_way || (cpu == here && other < world_rank);
    }
  }
  if (!give_way) {
    return;
  }
  const std::uint64_t now = now_ns();
  cpu_set_t mask;
  if (now < not_before_ns_ || sched_getaffinity(0, sizeof mask, &mask) != 0) {
    return;  // (a mask of more CPUs than a cpu_set_t holds: left to the kernel)
  }
  if (const int cpu = free_cpu(mask, here, others); cpu >= 0) {
    move_to(cpu, mask, bound_);
    mine.cpu.store(cpu + 1, std::memory_order_relaxed);
    pause_ns_ = std::clamp(2 * pause_ns_, first_pause_ns, longest_pause_ns);
    not_before_ns_ = now + pause_ns_;
  }
}

}  // namespace meantime::wait
