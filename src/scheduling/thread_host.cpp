// Makes a host's fibers, with a kernel thread each that owns its stack, and the carriers.
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <system_error>

#include "base/clock.h"
#include "node/segment.h"
#include "protocol/host_interface.h"
#include "rank/ticks.h"
#include "scheduling/asymmetric_fence.h"
#include "scheduling/fiber.h"
#include "scheduling/monitor.h"
#include "scheduling/scheduler.h"
#include "scheduling/switch_order.h"
#include "scheduling/view.h"
#include "sleep/doorbell.h"

namespace meantime::ranks {

constinit detail::HostPlace detail::host_place;

void have_files_of_ones_own() {
  unshare(CLONE_FS);
}

// --- carriers

namespace {

/// To the worker's CPU, if the job's workers have them all, one each. (Process ranks run anywhere,
/// so beside them workers do, too.)
void bind_to(int number, std::atomic<std::uint32_t>& numa_node) {
  static const cpu_set_t mask = [] {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    sched_getaffinity(getpid(), sizeof cpus, &cpus);  // the main thread's, which is never bound
    return cpus;
  }();
  if (CPU_COUNT(&mask) != host().plan->job_workers) {
    return;
  }
  number += host().plan->first_worker;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask) && number-- == 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      unsigned node = 0;
      if (sched_setaffinity(0, sizeof one, &one) == 0 && getcpu(nullptr, &node) == 0) {
        numa_node.store(node + 1, std::memory_order_relaxed);
      }
      return;
    }
  }
}

/// By the main thread. nullptr where the kernel gives no thread.
Carrier* make_carrier() {
  auto made = std::make_unique<Carrier>();
  Carrier& carrier = *made;
  for (const std::unique_ptr<Worker>& worker : host().workers) {
    worker->place().host_threads.fetch_add(1, std::memory_order_relaxed);
  }
  try {
    carrier.thread = std::thread([&carrier] { carry(carrier); });
  } catch (const std::system_error&) {
    for (const std::unique_ptr<Worker>& worker : host().workers) {
      worker->place().host_threads.fetch_sub(1, std::memory_order_relaxed);
    }
    return nullptr;
  }
  host().carriers.push_back(std::move(made));
  return &carrier;
}

}  // namespace

void carry(Carrier& carrier) {
  carrier.thread_id.store(gettid());
  carrier.control_block = control_block();
  have_files_of_ones_own();
  if (host().plan->worker_begins != nullptr) {
    host().plan->worker_begins();
  }
  for (;;) {
    // All: who does not run does not learn when the last one stops counting. (read opens them
    // again.)
    carrier.counter_files.close_all();
    carrier.called.wait();
    if (host().ending.load(std::memory_order_acquire)) {
      return;
    }
    bind_to(carrier.assigned->number(), carrier.assigned->place().numa_node);
    carrier.assigned->work(carrier);
    give_back_carrier(carrier);
  }
}

Carrier* take_spare_carrier() {
  const LockGuard guard(host().carriers_lock);
  if (host().spare_carriers.empty()) {
    return make_carrier();
  }
  Carrier* const carrier = host().spare_carriers.back();
  host().spare_carriers.pop_back();
  return carrier;
}

void give_back_carrier(Carrier& carrier) {
  const LockGuard guard(host().carriers_lock);
  host().spare_carriers.push_back(&carrier);
}

namespace {

void end_carriers() {
  host().ending.store(true, std::memory_order_release);
  for (const std::unique_ptr<Carrier>& carrier : host().carriers) {
    carrier->called.send();
  }
  for (const std::unique_ptr<Carrier>& carrier : host().carriers) {
    carrier->thread.join();
  }
}

// --- fibers

/// What the own thread keeps of its stack for itself.
constexpr std::size_t own_bytes = 8192;

void fiber_entry(void* argument) {
  Fiber& fiber = *static_cast<Fiber*>(argument);
  after_switch(&fiber);
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
  meantime::detail::current_rank = &fiber.rank;
  fiber.control_block = control_block();
  fiber.mark =
      new_stack(static_cast<char*>(__builtin_frame_address(0)) - own_bytes, fiber_entry, &fiber);
  fiber.plan->prepare(fiber.index);
  fiber.own_cpu_ns = thread_cpu_ns();
  fiber.ready.send();
  for (;;) {
    fiber.called.wait();
    meantime_switch_stack(&fiber.parked, fiber.mark);
    wait::make_runnable_again(*fiber.ticket);
  }
}

/// Stack and control block of one rank lie as far from a page's edge as those of any other would,
/// and a processor's caches have only so many places for lines of one distance: many ranks that
/// take turns would throw each other's out. So each begins elsewhere in its page.
int make_own_thread(Fiber& fiber) {
  constexpr std::size_t line_of_rank = 9;  // prime to the 64 lines of a page
  const std::size_t colour =
      static_cast<std::size_t>(fiber.index) * line_of_rank % 64 * node::cache_line +
      static_cast<std::size_t>(fiber.index) % 32 * 4096;
  const std::size_t bytes = fiber.plan->stack_bytes + 64 * 4096;
  void* const place = mmap(nullptr, fiber.plan->guard_bytes + bytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (place == MAP_FAILED) {
    return errno;
  }
  char* const low = static_cast<char*>(place) + fiber.plan->guard_bytes;
  if (mprotect(low, bytes, PROT_READ | PROT_WRITE) != 0) {
    return errno;
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, low, bytes - colour);
  const int error = pthread_create(&fiber.own_thread, &attributes, own_thread, &fiber);
  pthread_attr_destroy(&attributes);
  return error;
}

/// The node hears of a worker and of who runs on it. nullptr when the node has no memory: for more
/// workers than ranks, for whom it is set aside.
node::WorkerPlace* make_place(const Plan& plan, int number) {
  node::Segment& segment = node::segment();
  const node::Link link = number < plan.ranks
                              ? segment.start_of(plan.first_rank + number) + node::start_of_worker
                              : segment.grow(sizeof(node::WorkerPlace));
  if (link == 0) {
    return nullptr;
  }
  auto* place = segment.at<node::WorkerPlace>(link);
  place->bell.owner = node::no_owner;
  place->bell.worker = link;
  // The own threads and the main one. Each carrier counts itself.
  place->host_threads.store(static_cast<std::uint32_t>(plan.ranks + 1), std::memory_order_relaxed);
  return place;
}

int make_fibers(const Plan& plan) {
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
    fiber->rank.sleepers.prepare(fiber->rank.world_rank, node::few_waiters);
    fiber->ticket = fiber->rank.sleepers.take(fiber->rank.world_rank);
    host().fibers.push_back(fiber);
    error = make_own_thread(*fiber);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

}  // namespace

int run(const Plan& plan) {
  Host& here = host();
  Ticks::glance();
  AsymmetricFence::prepare();
  here.plan = &plan;
  here.fs_base_by_instruction = has_fsgsbase();
  here.files.folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  here.files.mask = static_cast<int>(syscall(SYS_umask, 0));
  syscall(SYS_umask, here.files.mask);
  here.first_rank = plan.first_rank;
  for (int number = 0; number < plan.workers; ++number) {
    node::WorkerPlace* place = make_place(plan, number);
    if (place == nullptr) {
      return ENOMEM;
    }
    here.workers.push_back(std::make_unique<Worker>(number, *place));
    here.workers.back()->make_room(static_cast<std::size_t>(plan.ranks));
    here.workers.back()->send_on(plan.always_move);
    // A bell never probes. With that link one finds all of a host's workers from any (the ledger).
    if (number > 0) {
      place->bell.next_prober = here.workers.front()->link();
      here.workers[static_cast<std::size_t>(number) - 1]->place().bell.next_prober =
          here.workers.back()->link();
    }
  }
  const int error = make_fibers(plan);
  // Those that run use the plan until they are ready, which is the caller's: also if this returns.
  for (Fiber* fiber : here.fibers) {
    if (error == 0 || fiber != here.fibers.back()) {  // that one has no thread
      fiber->ready.wait();
    }
  }
  if (error != 0) {
    return error;
  }
  for (Fiber* fiber : here.fibers) {
    const auto index = static_cast<std::size_t>(fiber->index);
    Worker& worker =
        *here.workers[plan.first_workers != nullptr
                          ? static_cast<std::size_t>(plan.first_workers[index]) %
                                here.workers.size()
                      : plan.round_robin ? index % here.workers.size()
                                         : index * here.workers.size() / here.fibers.size()];
    node::RankArea& area = node::segment().area(fiber->rank.world_rank);
    area.home.store(worker.link(), std::memory_order_release);
    area.worker.store(worker.link(), std::memory_order_release);
    worker.add(*fiber);
  }
  show_ranks(here.fibers);
  here.living.store(plan.ranks);
  for (const std::unique_ptr<Worker>& worker : here.workers) {
    Carrier* const carrier = take_spare_carrier();
    if (carrier == nullptr) {
      return EAGAIN;
    }
    worker->set_carrier(*carrier);
    carrier->assigned = worker.get();
  }
  for (const std::unique_ptr<Worker>& worker : here.workers) {
    worker->carrier().called.send();
  }
  watch();
  if (!here.abandoned.load()) {
    end_carriers();
  }
  return 0;
}

}  // namespace meantime::ranks
