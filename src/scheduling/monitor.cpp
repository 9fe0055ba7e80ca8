#include "scheduling/monitor.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/heuristics.h"
#include "ledger/kernel_account.h"
#include "rank/sleeping_call.h"
#include "scheduling/scheduler.h"
#include "sleep/doorbell.h"

namespace meantime::ranks {
namespace {

constexpr std::uint64_t ms = 1'000'000;
/// How often it looks. The short one while a worker sleeps and could help another.
constexpr std::uint64_t short_tick_ns = 1 * ms;
constexpr std::uint64_t tick_ns = 5 * ms;
/// How long a fiber may keep others from a core, asleep in the kernel. Computing may be what the
/// program is for: then the kernel shares the core out, which is no better for anybody, but a fiber
/// that spins until another one has done something would spin for ever. Computing is counted in
/// CPU time: on a busy machine a carrier that waits for its CPU holds nobody up that could run.
constexpr std::uint64_t held_up_asleep_ns = 10 * ms;
constexpr std::uint64_t held_up_computing_ns = 100 * ms;
/// Whose worker has one already that computes beside it shares its CPU anyway, and where one spins
/// others may, too: each next one is given so long, wherever that time went. (Else 32 ranks of a
/// worker that spin for each other had 100 ms each of a CPU that they share with all before them:
/// 6 s.)
constexpr std::uint64_t held_up_sharing_ns = 10 * ms;

/// 1 while the monitor waits for a worker to be up.
std::atomic<std::uint32_t> parked{0};

constexpr std::uint64_t worth_telling_ns = 200 * ms;

/// How often it asks the kernel for the ledger's sake: the report of a host that is killed is so
/// old.
constexpr std::uint64_t accounts_ns = 100 * ms;

/// A fiber that held its worker up, and the carrier that it kept.
struct Suspect {
  const Fiber* fiber;
  const Carrier* carrier;
  std::uint64_t since_ns;
};
std::vector<Suspect> suspects;

struct Watched {
  std::uint64_t switches = 0;
  std::uint64_t since_ns = 0;  ///< the first look at this number of switches
  std::uint64_t cpu_ns = 0;    ///< its carrier's CPU time at the second; 0: there was none yet
  std::uint64_t lone_yields = 0;
  std::uint64_t looked_ns = 0;

  void hold_begins(std::uint64_t now_switches, std::uint64_t now_ns) {
    switches = now_switches;
    since_ns = now_ns;
    cpu_ns = 0;
  }
};

bool any_worker_up() {
  for (const std::unique_ptr<Worker>& worker : host().workers) {
    if (!worker->asleep()) {
      return true;
    }
  }
  return false;
}

bool all_finalized() {
  return host().living.load(std::memory_order_seq_cst) == 0;
}

// Whoever gets up writes that it is up, then looks at `parked`; the monitor writes `parked`, then
// looks who is up (all sequentially consistent): one of them sees the other. The last fiber's end
// is told by the same word.
void sleep_until_somebody_is_up() {
  parked.store(1, std::memory_order_seq_cst);
  while (!any_worker_up() && !all_finalized() && parked.load(std::memory_order_seq_cst) != 0) {
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&parked), FUTEX_WAIT_PRIVATE, 1, nullptr,
            nullptr, 0);
  }
  parked.store(0, std::memory_order_relaxed);
}

/// For that long, or until the last fiber has ended.
void sleep_for(std::uint64_t ns) {
  const timespec time{0, static_cast<long>(ns)};
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&host().last_is_finalized),
          FUTEX_WAIT_PRIVATE, 0, &time, nullptr, 0);
}

bool sleeps_in_kernel(int thread) {
  std::FILE* file = std::fopen(fmt::format("/proc/self/task/{}/stat", thread).c_str(), "re");
  if (file == nullptr) {
    return false;
  }
  char state = 0;
  // The name is in brackets, and ours has none in it.
  const bool found = std::fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
  std::fclose(file);
  return found && (state == 'S' || state == 'D');
}

int thread_of(const Worker& worker) {
  return worker.carrier().thread_id.load(std::memory_order_relaxed);
}

void hand_over(Worker& worker, const Watched& watched, bool computes) {
  Carrier* const spare = take_spare_carrier();
  if (spare == nullptr) {
    return;
  }
  const Carrier& before = worker.carrier();
  const bool taken = worker.try_take();
  const Fiber* fiber = nullptr;
  std::uint64_t cpu_ns = 0;  // of the carrier before; the fiber's own from there on
  if (taken && worker.switches() == watched.switches && worker.has_runnable()) {
    fiber = worker.hand_over(*spare, computes);
    cpu_ns = fiber != nullptr ? fiber->hand_over.cpu_ns : 0;
  }
  if (taken) {
    worker.give_back();
  }
  if (fiber == nullptr) {
    give_back_carrier(*spare);
    return;
  }
  worker.close_account(cpu_ns);
  spare->assigned = &worker;
  spare->called.send();
  suspects.push_back({fiber, &before, now_ns()});
}

/// Who held a worker up and still sleeps in the kernel long after is told of, once a host: the user
/// may want to know that a rank cost a kernel thread. (A page fault, a lock of malloc or, on a
/// machine that has much to do, another thread's munmap is nobody's business.)
void look_at_suspects() {
  if (suspects.empty()) {
    return;
  }
  const Suspect first = suspects.front();
  if (now_ns() - first.since_ns < worth_telling_ns) {
    return;
  }
  suspects.erase(suspects.begin());
  static bool told = false;
  const int thread = first.carrier->thread_id.load(std::memory_order_relaxed);
  if (first.carrier->held_by.load(std::memory_order_relaxed) == first.fiber &&
      sleeps_in_kernel(thread) && !waits_for_memory(thread) && host().plan->held_up != nullptr &&
      !std::exchange(told, true)) {
    host().plan->held_up(first.fiber->rank.world_rank, thread);
  }
}

void watch_pace(Worker& worker, Watched& watched, std::uint64_t switches, std::uint64_t now) {
  const std::uint64_t lone = worker.lone_yields();
  worker.be_brisk(!has_too_many(static_cast<std::size_t>(worker.living()), now - watched.looked_ns,
                                switches + lone - watched.lone_yields));
  watched.lone_yields = lone;
  watched.looked_ns = now;
}

/// Computing for the first one is a matter of CPU time, see above; one that has had none at all has
/// not begun.
bool computes_too_long(const Worker& worker, const Watched& watched, std::uint64_t held_ns) {
  const bool shares = worker.computing_beside() > 0;
  if (held_ns < (shares ? held_up_sharing_ns : held_up_computing_ns)) {
    return false;
  }
  const std::uint64_t cpu_ns = ledger::cpu_ns_of(thread_of(worker)) - watched.cpu_ns;
  return shares ? cpu_ns > 0 : cpu_ns >= held_up_computing_ns - tick_ns;
}

void look(std::vector<Watched>& all) {
  const std::uint64_t now = now_ns();
  Worker* sleeper = nullptr;
  for (const std::unique_ptr<Worker>& worker : host().workers) {
    sleeper = worker->asleep() ? worker.get() : sleeper;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    Worker& worker = *host().workers[i];
    Watched& watched = all[i];
    const std::uint64_t switches = worker.switches();
    const std::uint64_t done = switches - watched.switches;
    watch_pace(worker, watched, done, now);
    if (switches != watched.switches || worker.asleep()) {
      watched.hold_begins(switches, now);
    } else if (watched.cpu_ns == 0) {
      watched.cpu_ns = ledger::cpu_ns_of(thread_of(worker));
    }
    if (!worker.has_runnable() || worker.asleep()) {
      continue;
    }
    const std::uint64_t held = now - watched.since_ns;
    if (sleeper != nullptr && host().plan->steal &&
        has_too_many(worker.runnable(), short_tick_ns, done)) {
      wait::ring(sleeper->place().bell);
      sleeper = nullptr;
    }
    const bool asleep = held >= held_up_asleep_ns && sleeps_in_kernel(thread_of(worker));
    if (asleep || computes_too_long(worker, watched, held)) {
      hand_over(worker, watched, !asleep);
      watched.hold_begins(switches, now);  // of the new carrier's CPU time nothing is known
    }
  }
}

/// A worker that was held up has lost ranks to others, and takes of theirs when it is back. While
/// they compute that is the balance. Where they only take turns, no worker has enough to be stolen
/// from, and it would stay like that for ever: unequal numbers, and ranks that should arrive
/// together (coll/area.h) on different cores. A barrier of 256 ranks took twice its time.
void send_strays_home() {
  for (const std::unique_ptr<Worker>& worker : host().workers) {
    worker->send_on(worker->has_strays() && worker->is_brisk());
  }
}

void refresh_accounts() {
  static std::uint64_t next_ns = 0;
  const std::uint64_t now = now_ns();
  if (now >= next_ns) {
    next_ns = now + accounts_ns;
    for (const std::unique_ptr<Worker>& worker : host().workers) {
      worker->refresh_account();
    }
  }
}

std::uint64_t time_to_next_look() {
  bool somebody_sleeps = false;
  for (const std::unique_ptr<Worker>& worker : host().workers) {
    somebody_sleeps = somebody_sleeps || worker->asleep();
  }
  return somebody_sleeps && host().plan->steal ? short_tick_ns : tick_ns;
}

}  // namespace

void watch() {
  std::vector<Watched> all(host().workers.size());
  while (!all_finalized()) {
    refresh_accounts();
    if (!any_worker_up()) {
      sleep_until_somebody_is_up();
      continue;
    }
    sleep_for(time_to_next_look());
    look(all);
    if (uses(Heuristic::strays_home) && host().plan->steal && !host().plan->always_move) {
      send_strays_home();
    }
    look_at_suspects();
  }
}

void a_worker_is_up() {
  if (parked.load(std::memory_order_seq_cst) != 0 &&
      parked.exchange(0, std::memory_order_seq_cst) != 0) {
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&parked), FUTEX_WAKE_PRIVATE, 1, nullptr,
            nullptr, 0);
  }
}

void tell_monitor_of_the_end() {
  host().last_is_finalized.store(1, std::memory_order_seq_cst);
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&host().last_is_finalized),
          FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  a_worker_is_up();
}

}  // namespace meantime::ranks
