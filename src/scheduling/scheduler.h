// Who runs which fiber. For src/rank only.
//   worker   one CPU's share of the host: a queue of runnable fibers, and what the node knows of it
//   carrier  a kernel thread that runs a worker's fibers. A worker has one carrier at a time; if
//            that one is held up by its fiber (it sleeps in the kernel, or does not come to MPI),
//            the worker is handed to a spare carrier, and the fiber is offloaded until it comes
//            back by itself (monitor.cpp)
//   stray    a fiber that is not on the worker on which it began, its home
//   holding  a worker is changed by its carrier, which enters and leaves it without a lock, or by
//            an outsider that took it: a thief (balance.cpp) or the monitor
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/lock.h"
#include "node/layout.h"
#include "policy/contention.h"
#include "policy/policy.h"
#include "rank/counters.h"
#include "scheduling/asymmetric_fence.h"
#include "scheduling/fiber.h"
#include "scheduling/return_savings.h"
#include "scheduling/stack_switch.h"
#include "scheduling/timers.h"
#include "scheduling/worker.h"
#include "scheduling/worker_times.h"

namespace meantime::ranks {

class Worker;
class Countdown;

struct alignas(node::cache_line) Carrier {
  /// It is in its worker, see Worker::enter.
  std::atomic<std::uint32_t> inside{0};
  StackMark base = nullptr;  ///< its own stack, while a fiber runs
  std::uintptr_t control_block = 0;
  CpuMark mark;  ///< for the clocks of ranks; reset when it has slept
  FileContext files;
  /// Which the fiber that it runs took with it when its worker was handed over; nullptr: none. The
  /// monitor compares it and reads nothing through it.
  std::atomic<Fiber*> held_by{nullptr};
  Fiber* returning = nullptr;  ///< that came back from where it was held up, and has left its stack

  CounterFiles counter_files;

  std::thread thread;
  std::atomic<int> thread_id{0};
  Worker* assigned = nullptr;  ///< what it runs next; written before `called`
  Signal called;
};

class Worker {
 public:
  /// What becomes of a fiber that leaves, once its stack is left.
  enum class After : std::uint8_t { nothing, runnable, offloaded };

  Worker(int number, node::WorkerPlace& place)
      : number_(number), place_(place), times_(place.account) {}

  void make_room(std::size_t fibers) {
    queue_.make_room(fibers);
    timers_.make_room(fibers);
  }
  /// Before anybody runs.
  void add(Fiber& fiber);
  /// The carrier's thread: runs the fibers until the host has none, or until this worker is another
  /// carrier's.
  void work(Carrier& carrier);

  int number() const { return number_; }
  node::WorkerPlace& place() const { return place_; }
  node::Link link() const;

  // Hints, for anybody.
  bool has_runnable() const { return !queue_.empty() || !place_.woken.empty() || timers_.due(); }
  std::size_t runnable() const { return queue_.size() + (!place_.woken.empty() ? 1 : 0); }
  /// What the kernel says of it so far goes into its account.
  void refresh_account() { times_.refresh(); }
  /// Before the spare carrier that it was handed over to begins: the other one's ends with what it
  /// had needed then. What it needs from there on is its fiber's.
  void close_account(std::uint64_t cpu_ns) { times_.put_down(cpu_ns); }
  std::uint64_t switches() const { return switches_.load(std::memory_order_relaxed); }
  /// … and how often the fiber that runs would have let another one run, and there was none.
  std::uint64_t lone_yields() const { return lone_yields_.load(std::memory_order_relaxed); }
  bool asleep() const { return asleep_.load(std::memory_order_seq_cst); }
  int living() const { return living_.load(std::memory_order_relaxed); }
  bool has_strays() const { return strays_.load(std::memory_order_relaxed) != 0; }

  // --- By the monitor (monitor.h). Whoever reads an old one sends a stray home once too often, or
  // later; nothing else follows from it.
  /// All its fibers have their turns so soon that where they are matters more than how many.
  void be_brisk(bool brisk) { brisk_.store(brisk, std::memory_order_relaxed); }
  bool is_brisk() const { return brisk_.load(std::memory_order_relaxed); }
  /// Fibers that become runnable may have to be offloaded: strays with brisk homes.
  void send_on(bool sends) { sends_on_.store(sends, std::memory_order_relaxed); }

  // --- Holding.
  // The carrier says that it is inside, then looks whether somebody has taken the worker; the
  // outsider says that it takes it, then looks whether the carrier is inside. Between the two lies
  // an asymmetric fence, so one of them sees the other and goes back. Who is its carrier is changed
  // only by an outsider that has it; a former carrier that comes with `taken_` free has read what
  // give_back wrote, and with it the new carrier.

  /// By a carrier. False: the worker is another carrier's, and has not been entered.
  bool enter(Carrier& carrier) {
    carrier.inside.store(1, std::memory_order_relaxed);
    AsymmetricFence::light();
    return (taken_.load(std::memory_order_acquire) == 0 &&
            carrier_.load(std::memory_order_relaxed) == &carrier) ||
           enter_slowly(carrier);
  }
  void leave_hold(Carrier& carrier) { carrier.inside.store(0, std::memory_order_release); }
  /// By an outsider. False: somebody holds it.
  bool try_take();
  void give_back() { taken_.store(0, std::memory_order_release); }

  /// By the fiber that runs.
  const wait::Lateness& lateness() const { return lateness_; }
  void note_lone_yield() { lone_yields_.store(lone_yields() + 1, std::memory_order_relaxed); }

  // --- By the fiber that runs, which holds its worker. The hold ends on the other side.
  /// The next one that can run does. False if there is none: the hold is over all the same.
  bool yield(Fiber& fiber);
  void leave(Fiber& fiber, State to, After after);
  /// It is suspended until `waiter` is signalled, or until then (CLOCK_MONOTONIC).
  void suspend_until(Fiber& fiber, node::Waiter& waiter, std::uint64_t at_ns);
  /// First thing on the stack that was switched to. `here` is whose stack it is; nullptr: the
  /// carrier's.
  void arrived(Fiber* here);

  // --- By an outsider that has taken it.
  /// A runnable fiber that may move and is none of this worker's any more, or nullptr.
  Fiber* give_away();
  /// The fiber that runs is offloaded from now on, and the worker is `spare`'s. nullptr: none runs.
  Fiber* hand_over(Carrier& spare, bool computes);

  // --- By who holds it.
  /// A runnable fiber that was another's.
  void adopt(Fiber& fiber);

  /// MPIX_Ptime's ticks (clocks.h): for the rank that it runs.
  CoreClock& core_clock() { return core_clock_; }
  CoreCounts& core_counts() { return core_counts_; }
  /// By who holds it, for a fiber that was handed over and is back; or by that fiber, which sleeps
  /// beside it: then nobody else writes fiber.hand_over, for it is on no list.
  void one_less_computes_beside(Fiber& fiber);
  /// A fiber that was handed over is not back: its kernel thread runs beside the carrier.
  bool shares_its_cpu() const { return handed_over_.load(std::memory_order_relaxed) != 0; }
  int computing_beside() const { return computing_beside_.load(std::memory_order_relaxed); }

  /// Whoever carries it now. For outsiders that have taken it, and for the carrier.
  Carrier& carrier() const { return *carrier_.load(std::memory_order_relaxed); }
  void set_carrier(Carrier& carrier) { carrier_.store(&carrier, std::memory_order_relaxed); }

 private:
  bool enter_slowly(Carrier& carrier);
  /// The next that can run, or nullptr.
  Fiber* next();
  void take_woken();
  void take_due();
  void count_in(Fiber& fiber, Eagerness eagerness) {
    fiber.counted_eagerness = eagerness;
    ++waiting_[static_cast<int>(eagerness)];
  }
  void count_out(const Fiber& fiber) { --waiting_[static_cast<int>(fiber.counted_eagerness)]; }
  Eagerness eagerness() const;
  void queue(Fiber& fiber);
  void send_on(Fiber& fiber);
  void count_living(const Fiber& fiber, int more);
  void resume(Fiber& fiber, StackMark* from);
  /// Returns for how long it has looked, if ranks of it nap.
  std::uint64_t idle(Carrier& carrier, Eagerness eagerness, bool naps, bool quiet);
  bool poll_for_work(Carrier& carrier, Eagerness eagerness, std::uint64_t began,
                     Countdown& countdown);
  bool sleep(Carrier& carrier, Countdown& countdown);
  void help(Carrier& carrier);
  void sleep_on_bell(Countdown& countdown);
  bool begin_idle_sleep(Carrier& carrier);

  const int number_;
  node::WorkerPlace& place_;
  RunQueue queue_;
  Timers timers_;
  // The two are changed by who holds the worker, one after the other: no read-modify-write.
  std::atomic<int> living_{0};
  std::atomic<int> strays_{0};  ///< among them
  int offloaded_ = 0;           ///< that have left it and are not back on its list yet …
  int napping_ = 0;             ///< … and sleep for some time
  /// Its fibers that wait or are offloaded. (Who is on the queue, or on its way here from another
  /// worker, is not among them.) Changed by who holds the worker.
  int waiting_[eagernesses] = {};
  std::atomic<std::uint64_t> switches_{0};
  std::atomic<std::uint64_t> lone_yields_{0};
  std::atomic<bool> asleep_{false};  ///< from before its carrier counts it in until it is up again

  std::atomic<std::uint32_t> taken_{0};
  std::atomic<Carrier*> carrier_{nullptr};
  Fiber* running_ = nullptr;

  // Of the switch that is under way: the one who left, for the one who arrives.
  Fiber* left_ = nullptr;
  After after_ = After::nothing;

  WorkerTimes times_;
  // Of its idle times; for the carrier.
  std::uint64_t patience_ns_ = wait::policy().first_patience();
  wait::Contention contention_;
  wait::Lateness lateness_;  ///< of the timers that ended them
  ReturnSavings returns_{wait::policy().most_patience()};

  CoreClock core_clock_;
  // Counts that the monitor and others read now and then: nothing is ordered by them.
  std::atomic<int> handed_over_{0};
  std::atomic<int> computing_beside_{0};  ///< among them: those that did not sleep

  // Read at switches, of all workers, and written every few milliseconds.
  alignas(node::cache_line) std::atomic<bool> sends_on_{false};
  std::atomic<bool> brisk_{false};

  CoreCounts core_counts_{};
};

/// What is one a process; most of it set before the workers begin.
struct Host {
  const Plan* plan = nullptr;
  int first_rank = 0;
  bool fs_base_by_instruction = false;
  std::atomic<bool> any_file_contexts{false};  ///< a rank has asked for one of its own
  FileContext files;                           ///< as descriptors and numbers, not -1
  std::vector<Fiber*> fibers;
  std::vector<std::unique_ptr<Worker>> workers;
  std::atomic<int> living{0};                       ///< fibers that are not finalized
  std::atomic<std::uint32_t> last_is_finalized{0};  ///< 1 from then on: the monitor's futex

  std::vector<std::unique_ptr<Carrier>> carriers;  ///< the main thread's, which makes all
  Mutex carriers_lock;
  std::vector<Carrier*> spare_carriers MEANTIME_GUARDED_BY(carriers_lock);
  std::atomic<bool> ending{false};
  std::atomic<bool> abandoned{false};  ///< a fiber hangs somewhere, perhaps for ever

  Fiber& fiber_of(int world_rank) const {
    return *fibers[static_cast<std::size_t>(world_rank - first_rank)];
  }
};

namespace detail {
/// Never destroyed: a rank's exit handlers may still ask.
union HostPlace {
  constexpr HostPlace() : host{} {}
  ~HostPlace() {}
  Host host;
};
extern constinit HostPlace host_place;
}  // namespace detail

inline Host& host() {
  return detail::host_place.host;
}

/// A kernel thread of its own has a directory and a mask of its own (CLONE_FS).
void have_files_of_ones_own();
/// The calling kernel thread has `now`; afterwards it has what `wanted` says. 0 or an errno.
int change_files(FileContext& now, const FileContext& wanted);

/// The life of a carrier's thread.
void carry(Carrier& carrier);
/// A spare one, or nullptr where the kernel gives no thread more.
Carrier* take_spare_carrier();
void give_back_carrier(Carrier& carrier);

/// Whether a worker that has so many to run, and switched so often in that time, will be long in
/// getting to the last of them: then another one should help.
bool has_too_many(std::size_t runnable, std::uint64_t elapsed_ns, std::uint64_t switches);

/// Looks whether another worker has more than it can run soon; if so takes a rank of it. To be
/// asked at every turn of an idle worker's loop, with the time.
class Thief {
 public:
  /// Between two looks: what the others did meanwhile says how soon they get to the rest. So a new
  /// one steals at its second look, and `help` polls for as long: that costs what the wake-up did.
  static std::uint64_t look_ns() { return wait::policy().wake_up_ns; }

  explicit Thief(Worker& worker) : worker_(worker) {}
  /// True if the worker has something to run now.
  bool try_steal(Carrier& carrier, std::uint64_t now_ns);

 private:
  Worker& worker_;
  std::uint64_t looked_ns_ = 0;
  std::vector<std::uint64_t> switches_;  ///< of each worker, when it looked
};

}  // namespace meantime::ranks
