#include "rank/worker.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "node/segment.h"
#include "rank/clocks.h"
#include "rank/fiber.h"
#include "rank/host.h"
#include "rank/ticks.h"
#include "rank/view.h"
#include "wait/clock.h"
#include "wait/doorbell.h"
#include "wait/pause.h"
#include "wait/policy.h"
#include "wait/wait.h"

namespace meantime::ranks {
namespace {

// Of the host, not of a rank: set before the workers begin.
std::vector<Fiber*> fibers;
int first_rank = 0;
bool by_instruction = false;
std::atomic<bool> any_file_contexts{false};  ///< a rank has asked for one of its own
FileContext host_files;                      ///< as descriptors and numbers, not -1

Fiber* self_fiber() {
  return self().fiber;
}

}  // namespace

namespace {

/// The calling kernel thread has `now`; afterwards it has what `wanted` says. 0 or an errno.
/// (System calls, because libc's names lead back here: src/host/in_front_process.cpp.)
int change_files(FileContext& now, const FileContext& wanted) {
  if (now == wanted) [[likely]] {
    return 0;
  }
  if (now.folder != wanted.folder) {
    if (syscall(SYS_fchdir, wanted.folder >= 0 ? wanted.folder : host_files.folder) != 0) {
      return errno;
    }
    now.folder = wanted.folder;
  }
  if (now.mask != wanted.mask) {
    syscall(SYS_umask, wanted.mask >= 0 ? wanted.mask : host_files.mask);
    now.mask = wanted.mask;
  }
  return 0;
}

/// For a kernel thread that runs ranks.
void have_files_of_ones_own() {
  unshare(CLONE_FS);
}

}  // namespace

void Signal::send() {
  word_.store(1, std::memory_order_release);
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word_), FUTEX_WAKE_PRIVATE, 1, nullptr,
          nullptr, 0);
}

void Signal::wait() {
  while (word_.exchange(0, std::memory_order_acquire) == 0) {
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word_), FUTEX_WAIT_PRIVATE, 0, nullptr,
            nullptr, 0);
  }
}

void Fiber::change(State from, State to) {
  if (state.load(std::memory_order_relaxed) != from) [[unlikely]] {
    std::fprintf(stderr, "Meantime: rank %d: scheduler state %d where %d should be\n",
                 rank.world_rank, static_cast<int>(state.load()), static_cast<int>(from));
    std::abort();
  }
  state.store(to, std::memory_order_relaxed);
}

// --- the worker

void Worker::add(Fiber& fiber) {
  fiber.worker = this;
  fiber.change(State::init, State::suspended);
  queue_.push(fiber);
  ++living_;
}

/// Those that were rung, in the order in which they were.
void Worker::take_woken() {
  if (place_.woken.load(std::memory_order_relaxed) == 0) [[likely]] {
    return;
  }
  node::Segment& segment = node::segment();
  node::Link newest = place_.woken.exchange(0, std::memory_order_acquire);
  node::Link oldest = 0;
  while (newest != 0) {
    auto* waiter = segment.at<node::Waiter>(newest);
    const node::Link older = waiter->next_woken.load(std::memory_order_relaxed);
    waiter->next_woken.store(oldest, std::memory_order_relaxed);
    oldest = newest;
    newest = older;
  }
  while (oldest != 0) {
    auto* waiter = segment.at<node::Waiter>(oldest);
    oldest = waiter->next_woken.load(std::memory_order_relaxed);
    Fiber& fiber = *fibers[static_cast<std::size_t>(static_cast<int>(waiter->owner) - first_rank)];
    if (fiber.state.load(std::memory_order_relaxed) == State::elsewhere) {
      fiber.change(State::elsewhere, State::suspended);
      --elsewhere_;
    }
    queue_.push(fiber);
  }
}

Fiber* Worker::next() {
  take_woken();
  return queue_.empty() ? nullptr : &queue_.pop();
}

/// From the stack whose mark goes to `*from` to that of a fiber. Returns when somebody comes back.
void Worker::resume(Fiber& fiber, StackMark* from) {
  fiber.change(State::suspended, State::running);
  const StackMark to = fiber.mark;
  set_control_block(fiber.control_block, by_instruction);
  meantime_switch_stack(from, to);
}

/// First thing on the stack that was switched to: the other one is left now, so that whoever takes
/// its fiber finds the mark.
void Worker::arrived(Fiber* here) {
  if (here != nullptr && any_file_contexts.load(std::memory_order_relaxed)) [[unlikely]] {
    change_files(files_, here->files);
  }
  if (after_ == After::nothing) {
    return;
  }
  Fiber& fiber = *left_;
  if (after_ == After::runnable) {
    queue_.push(fiber);
  } else {
    fiber.called.send();
  }
  after_ = After::nothing;
}

void Worker::yield_from(Fiber& fiber) {
  Fiber* other = next();
  if (other == nullptr) {
    return;
  }
  fiber.change(State::running, State::suspended);
  left_ = &fiber;
  after_ = After::runnable;
  resume(*other, &fiber.mark);
  fiber.worker->arrived(&fiber);
}

void Worker::leave(Fiber& fiber, State to, After after) {
  fiber.change(State::running, to);
  living_ -= to == State::finalized ? 1 : 0;
  elsewhere_ += to == State::elsewhere ? 1 : 0;
  Fiber* const other = next();
  if (other == &fiber) {
    // Rung between its last look and here: it is on the list already, and has not left.
    fiber.change(to, State::running);
    return;
  }
  left_ = &fiber;
  after_ = after;
  if (other != nullptr) {
    resume(*other, &fiber.mark);
  } else {
    set_control_block(base_block_, by_instruction);
    meantime_switch_stack(&fiber.mark, base_);
  }
  if (to != State::elsewhere) {
    fiber.worker->arrived(&fiber);
  } else if (any_file_contexts.load(std::memory_order_relaxed)) [[unlikely]] {
    change_files(fiber.own_files, fiber.files);
  }
}

void Worker::work() {
  base_block_ = control_block();
  while (living_ > 0) {
    if (Fiber* fiber = next()) {
      resume(*fiber, &base_);
      arrived(nullptr);
    } else {
      idle();
    }
  }
}

/// Nothing to run: poll as long as the policy of a rank with a core of its own would, then sleep.
void Worker::idle() {
  const wait::Policy& policy = wait::policy();
  const std::uint64_t began = wait::now_ns();
  std::uint64_t waited = 0;
  for (std::uint32_t turn = 1;; ++turn) {
    if (place_.woken.load(std::memory_order_relaxed) != 0) {
      return;
    }
    if ((turn & 63) == 0) {
      waited = wait::now_ns() - began;
    }
    const wait::Rung rung = policy.next(turn, waited, policy.first_patience());
    if (rung == wait::Rung::park) {
      break;
    }
    if (rung == wait::Rung::yield) {
      sched_yield();
    } else {
      wait::pause();
    }
  }
  // One that is elsewhere is awake until it is on the list (which we have looked at since).
  place_.suspended.store(static_cast<std::uint32_t>(living_ - elsewhere_),
                         std::memory_order_relaxed);
  place_.elsewhere.store(static_cast<std::uint32_t>(elsewhere_), std::memory_order_relaxed);
  wait::begin_sleep(place_.bell);
  if (place_.woken.load(std::memory_order_seq_cst) == 0) {
    wait::sleep_until_rung(place_.bell);
  }
  wait::end_sleep(place_.bell);
  // Who rang counts us out after it has rung, by `suspended`, which must not change before.
  while (place_.asleep.load(std::memory_order_acquire) != 0) {
    sched_yield();
  }
}

// --- the rank's side

bool others_runnable() {
  Fiber* fiber = self_fiber();
  return fiber != nullptr && fiber->worker->has_runnable();
}

bool yield() {
  Fiber* fiber = self_fiber();
  if (fiber == nullptr || !fiber->worker->has_runnable()) {
    return false;
  }
  const Stopped stopped;
  fiber->worker->yield_from(*fiber);
  return true;
}

void suspend() {
  Fiber& fiber = *self_fiber();
  fiber.worker->leave(fiber, State::suspended, Worker::After::nothing);
}

void finish() {
  Fiber& fiber = *self_fiber();
  fiber.worker->leave(fiber, State::finalized, Worker::After::nothing);
  std::abort();
}

bool leave_worker() {
  Fiber* fiber = self_fiber();
  if (fiber == nullptr || fiber->state.load(std::memory_order_relaxed) != State::running) {
    return false;
  }
  clocks_go_away();
  fiber->worker->leave(*fiber, State::elsewhere, Worker::After::elsewhere);
  return true;
}

/// The own thread, once this stack is left, gives the fiber to its worker (own_thread).
void come_back() {
  Fiber& fiber = *self_fiber();
  const int error = errno;
  {
    const Stopped until_its_turn;
    fiber.ticket->worker = worker_of(fiber.rank);
    meantime_switch_stack(&fiber.mark, fiber.parked);
    fiber.worker->arrived(&fiber);
    clocks_are_back();
  }
  errno = error;
}

namespace {

node::Link worker_link(const Worker& worker) {
  return node::segment().link(&worker.place());
}

}  // namespace

node::Link worker_of(const Rank& rank) {
  return rank.fiber == nullptr ? 0 : worker_link(*rank.fiber->worker);
}

int worker_number(const Rank& rank) {
  return rank.fiber == nullptr ? -1 : rank.fiber->worker->number();
}

int worker_count() {
  return fibers.empty() ? 0 : fibers.front()->plan->workers;
}

bool runs_on(const node::WorkerPlace& place) {
  const Fiber* fiber = self_fiber();
  return fiber != nullptr && &fiber->worker->place() == &place &&
         fiber->state.load(std::memory_order_relaxed) == State::running;
}

namespace {

int use_files(Fiber& fiber, const FileContext& wanted) {
  any_file_contexts.store(true, std::memory_order_relaxed);
  const bool on_worker = fiber.state.load(std::memory_order_relaxed) == State::running;
  const int error = change_files(on_worker ? fiber.worker->files() : fiber.own_files, wanted);
  if (error == 0) {
    fiber.files = wanted;
  }
  return error;
}

}  // namespace

int set_folder(int descriptor) {
  Fiber& fiber = *self_fiber();
  return use_files(fiber, {descriptor, fiber.files.mask});
}

int set_file_mask(int mask) {
  Fiber& fiber = *self_fiber();
  return use_files(fiber, {fiber.files.folder, mask});
}

int control() {
  return fibers.front()->plan->control;
}

int index_of_self() {
  const Fiber* fiber = self_fiber();
  return fiber == nullptr ? -1 : fiber->index;
}

// --- the host

namespace {

/// What the own thread keeps of its stack for itself.
constexpr std::size_t own_bytes = 8192;

void fiber_entry(void* argument) {
  Fiber& fiber = *static_cast<Fiber*>(argument);
  fiber.worker->arrived(&fiber);
  fiber.plan->run(fiber.index);
  finish();
}

/// glibc's sched_getcpu believes what the kernel writes into the control block of the thread it was
/// registered by; that thread is parked, while the rank runs on a worker. Without a registration it
/// asks the kernel (in its own data page, 5 ns).
void unregister_restartable_sequences() {
#if defined(SYS_rseq)
  // Not linked to: glibc has these since 2.35.
  const auto* offset = static_cast<const std::ptrdiff_t*>(dlsym(RTLD_DEFAULT, "__rseq_offset"));
  const auto* size = static_cast<const unsigned*>(dlsym(RTLD_DEFAULT, "__rseq_size"));
  if (offset == nullptr || size == nullptr || *size == 0) {
    return;
  }
  char* area = reinterpret_cast<char*>(control_block()) + *offset;
  constexpr int unregister = 1;
  constexpr unsigned signature = 0x53053053;
  constexpr unsigned area_bytes = 32;
  syscall(SYS_rseq, area, area_bytes, unregister, signature);
  constexpr std::uint32_t failed = static_cast<std::uint32_t>(-2);
  reinterpret_cast<std::atomic<std::uint32_t>*>(area)[1].store(failed, std::memory_order_relaxed);
#endif
}

void* own_thread(void* argument) {
  Fiber& fiber = *static_cast<Fiber*>(argument);
  have_files_of_ones_own();
  unregister_restartable_sequences();
  detail::current_rank = &fiber.rank;
  fiber.control_block = control_block();
  fiber.mark =
      new_stack(static_cast<char*>(__builtin_frame_address(0)) - own_bytes, fiber_entry, &fiber);
  fiber.plan->prepare(fiber.index);
  fiber.ready.send();
  for (;;) {
    fiber.called.wait();
    meantime_switch_stack(&fiber.parked, fiber.mark);
    wait::make_runnable(*fiber.ticket);
  }
}

/// Stack and control block of one rank lie as far from a page's edge as those of any other would,
/// and a processor's caches have only so many places for lines of one distance: many ranks that
/// take turns would throw each other's out. So each begins elsewhere in its page.
int make_own_thread(Fiber& fiber) {
  constexpr std::size_t guard_bytes = MEANTIME_HOST_GUARD_BYTES;
  constexpr std::size_t line_of_rank = 9;  // prime to the 64 lines of a page
  const std::size_t colour =
      static_cast<std::size_t>(fiber.index) * line_of_rank % 64 * node::cache_line +
      static_cast<std::size_t>(fiber.index) % 32 * 4096;
  const std::size_t bytes = guard_bytes + fiber.plan->stack_bytes + 64 * 4096;
  void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (place == MAP_FAILED || mprotect(place, guard_bytes, PROT_NONE) != 0) {
    return errno;
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, static_cast<char*>(place) + guard_bytes,
                        bytes - guard_bytes - colour);
  const int error = pthread_create(&fiber.own_thread, &attributes, own_thread, &fiber);
  pthread_attr_destroy(&attributes);
  return error;
}

void bind_to(int number) {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) {
    return;
  }
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask) && number-- == 0) {
      CPU_ZERO(&mask);
      CPU_SET(cpu, &mask);
      sched_setaffinity(0, sizeof mask, &mask);
      return;
    }
  }
}

/// The node hears of a worker and of who runs on it. False when the node has no memory.
node::WorkerPlace* make_place(const Plan& plan) {
  node::Segment& segment = node::segment();
  const node::Link link = segment.grow(sizeof(node::WorkerPlace));
  if (link == 0) {
    return nullptr;
  }
  auto* place = segment.at<node::WorkerPlace>(link);
  place->bell.owner = node::no_owner;
  place->bell.worker = link;
  // The own threads, the workers, and the one that waits for them.
  place->host_threads.store(static_cast<std::uint32_t>(plan.ranks + plan.workers + 1),
                            std::memory_order_relaxed);
  return place;
}

}  // namespace

int run(const Plan& plan) {
  Ticks::glance();
  by_instruction = has_fsgsbase();
  host_files.folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  host_files.mask = static_cast<int>(syscall(SYS_umask, 0));
  syscall(SYS_umask, host_files.mask);
  first_rank = plan.first_rank;
  std::vector<std::unique_ptr<Worker>> workers;
  for (int number = 0; number < plan.workers; ++number) {
    node::WorkerPlace* place = make_place(plan);
    if (place == nullptr) {
      return ENOMEM;
    }
    workers.push_back(std::make_unique<Worker>(number, *place));
    workers.back()->make_room(static_cast<std::size_t>(plan.ranks));
  }
  // No signal is for an own thread: a handler would run on the bytes that the fiber does not own.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  for (int index = 0; index < plan.ranks && error == 0; ++index) {
    auto* fiber = new Fiber;  // for as long as the process lives: destructors may ask for the rank
    fiber->index = index;
    fiber->plan = &plan;
    fiber->rank.fiber = fiber;
    fiber->rank.world_rank = plan.first_rank + index;
    fiber->rank.world_size = plan.world_size;
    fiber->ticket = fiber->rank.sleepers.take(fiber->rank.world_rank);
    fibers.push_back(fiber);
    error = make_own_thread(*fiber);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    return error;
  }
  for (Fiber* fiber : fibers) {
    fiber->ready.wait();
    const auto index = static_cast<std::size_t>(fiber->index);
    Worker& worker =
        *workers[plan.first_workers != nullptr
                     ? static_cast<std::size_t>(plan.first_workers[index]) % workers.size()
                 : plan.round_robin ? index % workers.size()
                                    : index * workers.size() / fibers.size()];
    node::segment()
        .area(fiber->rank.world_rank)
        .worker.store(worker_link(worker), std::memory_order_release);
    worker.add(*fiber);
  }
  show_ranks(fibers);
  cpu_set_t mask;
  const bool all_cpus =
      sched_getaffinity(0, sizeof mask, &mask) == 0 && CPU_COUNT(&mask) == plan.workers;
  // No thread goes before the others: whoever looks for deadlocks counts them (host_threads).
  std::latch all_done(plan.workers);
  std::vector<std::thread> threads;
  for (std::unique_ptr<Worker>& worker : workers) {
    threads.emplace_back([&worker, &plan, &all_done, all_cpus] {
      if (all_cpus) {
        bind_to(worker->number());
      }
      have_files_of_ones_own();
      if (plan.worker_begins != nullptr) {
        plan.worker_begins();
      }
      worker->work();
      all_done.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return 0;
}

}  // namespace meantime::ranks
