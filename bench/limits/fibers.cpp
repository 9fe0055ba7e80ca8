// The floor of a barrier of user-level threads: fibers on a few bound threads (workers), without an
// MPI.
//
// A fiber that waits for the others of its worker lets the next one run; the last one of a worker
// polls until the other workers are there. Nothing is private to a fiber but its stack, and nobody
// can come from outside: neither messages nor a rank that moves.
// `loop`: a fiber goes back to its worker's loop, which runs the next one (the goals of thread
// ranks refer to that). `direct`: from fiber to fiber.
#include <thread>

#include "processes.h"

namespace {

const char usage[] =
    "fibers: bare user-level threads, time of one barrier\n"
    "  --ways LIST    loop, direct (default: both)\n"
    "  --ranks LIST   fibers in all (default 2,16,64,256)\n"
    "  --workers N    (default: as many as there are CPUs)\n"
    "  --seconds S    per point (default 0.5)\n"
    "  --json\n";

#if defined(__x86_64__)

const int batches = 5;

// Leaves this stack, whose place is stored in `*from`, for the one that was left at `to`.
extern "C" void bench_switch_stack(void** from, void* to);

asm(R"(
.pushsection .text
.globl bench_switch_stack
.type bench_switch_stack, @function
.p2align 4
bench_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  subq $8, %rsp
  stmxcsr (%rsp)
  fnstcw 4(%rsp)
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  ldmxcsr (%rsp)
  fldcw 4(%rsp)
  addq $8, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size bench_switch_stack, . - bench_switch_stack
.popsection
)");

struct Crossing {  // of the workers
  alignas(128) std::atomic<int> arrived{0};
  alignas(128) std::atomic<int> generation{0};
};

struct Job {
  int ranks, workers;
  bool direct;
  Crossing crossing;
  std::atomic<std::uint32_t> turns{0};
  bench::Distribution result;

  Job(int all, int processors, bool without_loop)
      : ranks(all), workers(std::min(all, processors)), direct(without_loop) {}
  void measure(double seconds);  // what each fiber does; fiber 0 has the result
};

class Worker {
 public:
  Worker(Job& job, int first, int count, double seconds)
      : job_(job), first_(first), fibers_(static_cast<std::size_t>(count)), seconds_(seconds) {
    for (Fiber& fiber : fibers_) begin(fiber);
  }

  // One fiber after the other, until all are through.
  void run() {
    for (left_ = fibers_.size(); left_ > 0; advance())
      bench_switch_stack(&home_, fibers_[current_].place);
  }

  void barrier() {
    const int mine = generation_;
    if (++arrived_ < static_cast<int>(fibers_.size())) {
      while (generation_ == mine) next();
      return;
    }
    arrived_ = 0;
    cross();
    generation_ = mine + 1;
  }

  bool leads() const { return first_ == 0 && current_ == 0; }

 private:
  static constexpr std::size_t stack_bytes = 65536;
  struct Fiber {
    void* place = nullptr;
    bool over = false;
    std::unique_ptr<char[]> stack;
  };

  void begin(Fiber& fiber) {
    fiber.stack = std::make_unique<char[]>(stack_bytes);
    auto top = reinterpret_cast<std::uintptr_t>(fiber.stack.get() + stack_bytes) & ~63ul;
    auto* words = reinterpret_cast<std::uint64_t*>(top);
    *--words = 0;                                                // where a caller would be
    *--words = reinterpret_cast<std::uint64_t>(&Worker::entry);  // the switch returns to it
    for (int i = 0; i < 6; i++) *--words = 0;
    *--words = 0x1f80 | std::uint64_t{0x037f} << 32;  // control words as a process begins with
    fiber.place = words;
  }

  // A thread stays on its worker: its stacks may look for it in a thread-local variable.
  static void entry() {
    Worker& worker = *carried;
    worker.job_.measure(worker.seconds_);
    worker.fibers_[worker.current_].over = true;
    worker.left_--;
    worker.next();
    std::abort();
  }

  void advance() {
    if (left_ == 0) return;
    do {
      current_ = current_ + 1 == fibers_.size() ? 0 : current_ + 1;
    } while (fibers_[current_].over);
  }

  void next() {
    Fiber& left = fibers_[current_];
    if (!job_.direct || left_ == 0) return bench_switch_stack(&left.place, home_);
    advance();
    if (&fibers_[current_] != &left) bench_switch_stack(&left.place, fibers_[current_].place);
  }

  void cross() {
    Crossing& crossing = job_.crossing;
    const int mine = crossing.generation.load(std::memory_order_relaxed);
    if (crossing.arrived.fetch_add(1) + 1 == job_.workers) {
      crossing.arrived.store(0, std::memory_order_relaxed);
      crossing.generation.store(mine + 1, std::memory_order_release);
    } else {
      while (crossing.generation.load(std::memory_order_acquire) == mine) bench::pause_briefly();
    }
  }

  Job& job_;
  int first_, arrived_ = 0, generation_ = 0;
  std::size_t current_ = 0, left_ = 0;
  void* home_ = nullptr;
  std::vector<Fiber> fibers_;
  double seconds_;

 public:
  static thread_local Worker* carried;
};

thread_local Worker* Worker::carried = nullptr;

void Job::measure(double seconds) {
  Worker& worker = *Worker::carried;
  const bool leads = worker.leads();
  std::vector<double> singles, values;
  std::vector<std::uint64_t> stamps;
  // As an MPI program would be measured: only one fiber looks at the clock at each turn.
  auto batch = [&](std::uint32_t count) {
    if (leads) stamps.resize(count + 1);
    worker.barrier();
    if (leads) stamps[0] = bench::now_ns();
    for (std::uint32_t i = 1; i <= count; i++) {
      worker.barrier();
      if (leads) stamps[i] = bench::now_ns();
    }
    if (!leads) return;
    const std::vector<double> more = bench::differences(stamps);
    singles.insert(singles.end(), more.begin(), more.end());
    values.push_back(static_cast<double>(stamps.back() - stamps.front()) / count);
  };
  batch(200);
  if (leads)
    turns.store(
        static_cast<std::uint32_t>(std::clamp(seconds * 1e9 / batches / values.back(), 20.0, 1e6)));
  worker.barrier();
  const std::uint32_t count = turns.load();
  singles.clear();
  values.clear();
  for (int i = 0; i < batches; i++) batch(count);
  if (!leads) return;
  result = bench::distribution_of(values);
  const bench::Distribution single = bench::distribution_of(singles);
  result.p99 = single.p99;
  result.max = single.max;
  result.samples = single.samples;
}

void measure(const std::string& way, int ranks, int workers, double seconds,
             bench::Report& report) {
  const std::vector<int> cpus = bench::allowed_cpus();
  auto job = std::make_unique<Job>(ranks, workers, way == "direct");
  std::vector<std::thread> threads;
  for (int i = 0; i < job->workers; i++)
    threads.emplace_back([&, i] {
      bench::bind_to(cpus[static_cast<std::size_t>(i) % cpus.size()]);
      const int first = i * ranks / job->workers, end = (i + 1) * ranks / job->workers;
      Worker worker(*job, first, end - first, seconds);
      Worker::carried = &worker;
      worker.run();
    });
  for (std::thread& thread : threads) thread.join();
  report.row("barrier", {{"way", way}, {"ranks", ranks}, {"workers", job->workers}}, "us",
             job->result.scaled(1e-3));
}

#endif

void body(bench::Options& options, bench::Report& report) {
  const long cpus = static_cast<long>(bench::allowed_cpus().size());
  const auto ways = options.texts("ways", "loop,direct");
  const auto ranks = options.sizes("ranks", "2,16,64,256");
  const long workers = options.number("workers", cpus);
  const double seconds = options.seconds("seconds", 0.5);
  options.finish();
  for (const std::string& way : ways)
    if (way != "loop" && way != "direct") throw bench::UsageError("--ways are loop and direct");
  for (long n : ranks)
    if (n < 1 || n > 10000) throw bench::UsageError("--ranks are from 1 to 10000");
  if (workers < 1 || workers > cpus)
    throw bench::UsageError("--workers are from 1 to the number of CPUs");
  report.header("fibers", {{"cpus", cpus}});
  for (const std::string& way : ways)
    for (long n : ranks) {
#if defined(__x86_64__)
      measure(way, static_cast<int>(n), static_cast<int>(workers), seconds, report);
#else
      (void)seconds;
      report.skip("barrier", {{"way", way}, {"ranks", n}, {"workers", workers}}, "only for x86-64");
#endif
    }
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_prototype(argc, argv, usage, body);
}
