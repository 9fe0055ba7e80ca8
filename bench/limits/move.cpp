// The floors of moving data: inside a process, and between two bound processes.
//
// memcpy: inside one process. non-temporal: the same with stores that pass the caches by (x86-64).
// readv, writev: process_vm_readv and _writev from or to the memory of a process that waits.
// cells: through shared cells of 64 KiB, one process filling them while the other empties them.
// Each with one pair of buffers, hot in the caches as far as they fit, and with many in turn.
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "processes.h"

namespace {

const char usage[] =
    "move: bandwidth of memory moves\n"
    "  --ways LIST      memcpy, non-temporal, readv, writev, cells (default: all)\n"
    "  --bytes LIST     (default 4K,64K,256K,1M,4M,16M,64M)\n"
    "  --buffers LIST   buffers used in turn (default 1,64; fewer where they exceed --arena)\n"
    "  --arena BYTES    memory for the buffers of one process, one way (default 1G)\n"
    "  --cell BYTES     (default 64K)\n"
    "  --seconds S      per point (default 0.2)\n"
    "  --json\n";

const std::size_t cells = 16;

struct Shared {
  alignas(64) std::atomic<std::uint64_t> moves_wanted;  // cells: messages announced so far
  alignas(64) std::atomic<std::uint64_t> moves_done;
  alignas(64) std::atomic<std::uint64_t> filled;  // cells: counted over all messages
  alignas(64) std::atomic<std::uint64_t> emptied;
  std::atomic<bool> ready, over;
  char* peer_source;
  char* peer_target;
  pid_t peer;
};

char* private_memory(std::size_t bytes, int fill) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  bench::require(memory != MAP_FAILED, "mmap");
  std::memset(memory, fill, bytes);
  return static_cast<char*>(memory);
}

void copy_past_caches(char* target, const char* source, std::size_t bytes) {
#if defined(__x86_64__)
  for (std::size_t i = 0; i + 16 <= bytes; i += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(target + i),
                     _mm_load_si128(reinterpret_cast<const __m128i*>(source + i)));
  _mm_sfence();
#else
  std::memcpy(target, source, bytes);
#endif
}

class Mover {
 public:
  Mover(Shared& shared, char* ring, std::size_t cell, std::size_t bytes, std::size_t count)
      : shared_(shared), ring_(ring), cell_(cell), bytes_(bytes), count_(count) {}

  void allocate(int fill) {
    source_ = private_memory(bytes_ * count_, fill);
    target_ = private_memory(bytes_ * count_, fill + 1);
  }
  void release() {
    munmap(source_, bytes_ * count_);
    munmap(target_, bytes_ * count_);
  }

  // The second process: says where its memory is; for cells it empties them, else it sleeps.
  void serve(bool empties_cells) {
    allocate(3);
    shared_.peer_source = source_;
    shared_.peer_target = target_;
    shared_.peer = getpid();
    shared_.ready.store(true);
    while (!shared_.over.load()) {
      if (!empties_cells) {
        usleep(1000);
        continue;
      }
      const std::uint64_t done = shared_.moves_done.load();
      if (shared_.moves_wanted.load() == done) {
        bench::pause_briefly();
        continue;
      }
      empty_cells(target_ + offset(done));
      shared_.moves_done.store(done + 1);
    }
  }

  void move(const std::string& way, std::uint64_t turn) {
    char *source = source_ + offset(turn), *target = target_ + offset(turn);
    if (way == "memcpy") {
      std::memcpy(target, source, bytes_);
      asm volatile("" ::: "memory");
    } else if (way == "non-temporal") {
      copy_past_caches(target, source, bytes_);
    } else if (way == "readv") {
      attach(process_vm_readv, target, shared_.peer_source + offset(turn));
    } else if (way == "writev") {
      attach(process_vm_writev, source, shared_.peer_target + offset(turn));
    } else {
      const std::uint64_t number = shared_.moves_wanted.load() + 1;
      shared_.moves_wanted.store(number);
      fill_cells(source);
      while (shared_.moves_done.load() < number) bench::pause_briefly();
    }
  }

  // Can this machine do it at all?
  bool possible(const std::string& way) {
    if (way != "readv" && way != "writev") return true;
    char byte = 0;
    iovec here{&byte, 1}, there{shared_.peer_source, 1};
    return process_vm_readv(shared_.peer, &here, 1, &there, 1, 0) == 1;
  }

 private:
  std::size_t offset(std::uint64_t turn) const { return turn % count_ * bytes_; }

  template <class Call>
  void attach(Call call, char* mine, char* theirs) {
    for (std::size_t moved = 0; moved < bytes_;) {
      iovec here{mine + moved, bytes_ - moved}, there{theirs + moved, bytes_ - moved};
      const ssize_t result = call(shared_.peer, &here, 1, &there, 1, 0);
      bench::require(result > 0, "cross-memory attach");
      moved += static_cast<std::size_t>(result);
    }
  }

  void fill_cells(const char* source) {
    std::uint64_t number = shared_.filled.load(std::memory_order_relaxed);
    for (std::size_t at = 0; at < bytes_; at += cell_, number++) {
      while (number >= shared_.emptied.load(std::memory_order_acquire) + cells)
        bench::pause_briefly();
      std::memcpy(ring_ + number % cells * cell_, source + at, std::min(cell_, bytes_ - at));
      shared_.filled.store(number + 1, std::memory_order_release);
    }
  }

  void empty_cells(char* target) {
    std::uint64_t number = shared_.emptied.load(std::memory_order_relaxed);
    for (std::size_t at = 0; at < bytes_; at += cell_, number++) {
      while (number >= shared_.filled.load(std::memory_order_acquire)) bench::pause_briefly();
      std::memcpy(target + at, ring_ + number % cells * cell_, std::min(cell_, bytes_ - at));
      shared_.emptied.store(number + 1, std::memory_order_release);
    }
  }

  Shared& shared_;
  char *ring_, *source_ = nullptr, *target_ = nullptr;
  std::size_t cell_, bytes_, count_;
};

struct Point {
  std::string way;
  std::size_t bytes, buffers, cell;
  double seconds;
};

void measure(const Point& point, bench::Report& report) {
  const bench::Keys keys{{"way", point.way},
                         {"bytes", static_cast<long>(point.bytes)},
                         {"buffers", static_cast<long>(point.buffers)}};
  const std::vector<int> cpus = bench::allowed_cpus();
  auto& shared = *bench::shared_object<Shared>();
  char* ring = static_cast<char*>(bench::shared_memory(cells * point.cell));
  std::vector<double> samples;  // ns a move
  bench::run_processes(2, [&](int rank) {
    Mover mover(shared, ring, point.cell, point.bytes, point.buffers);
    bench::bind_to(rank == 0 ? cpus.front() : cpus.back());
    if (rank == 1) return mover.serve(point.way == "cells");
    mover.allocate(1);
    while (!shared.ready.load()) usleep(100);
    if (mover.possible(point.way)) {
      std::uint64_t turn = 0;
      for (; turn < point.buffers; turn++) mover.move(point.way, turn);
      // Several moves a sample where one is shorter than the clock is sharp.
      const std::uint64_t in_sample = point.bytes <= 65536 ? 16 : 1;
      const std::uint64_t end = bench::now_ns() + static_cast<std::uint64_t>(point.seconds * 1e9);
      std::uint64_t before = bench::now_ns();
      do {
        for (std::uint64_t i = 0; i < in_sample; i++) mover.move(point.way, turn++);
        const std::uint64_t now = bench::now_ns();
        samples.push_back(static_cast<double>(now - before) / static_cast<double>(in_sample));
        before = now;
      } while (before < end || samples.size() < 5);
    }
    shared.over.store(true);
    mover.release();
  });
  bench::allow(cpus);
  munmap(ring, cells * point.cell);
  munmap(&shared, sizeof shared);
  if (samples.empty()) {
    report.skip("move", keys, "cross-memory attach is not allowed here");
    return;
  }
  const bench::Distribution time = bench::distribution_of(samples);
  report.row("move", keys, "us", time.scaled(1e-3));
  const double scale = static_cast<double>(point.bytes) * 1e3;  // a rate's worst is its smallest
  report.row("bandwidth", keys, "MB/s",
             {scale / time.median, scale / time.mean, scale / time.max, scale / time.p99,
              scale / time.min, time.samples});
}

void body(bench::Options& options, bench::Report& report) {
  const auto ways = options.texts("ways", "memcpy,non-temporal,readv,writev,cells");
  const auto sizes = options.sizes("bytes", "4K,64K,256K,1M,4M,16M,64M");
  const auto buffers = options.sizes("buffers", "1,64");
  const long arena = options.count("arena", 1L << 30);
  const long cell = options.count("cell", 65536);
  const double seconds = options.seconds("seconds", 0.2);
  options.finish();
  for (const std::string& way : ways)
    if (way != "memcpy" && way != "non-temporal" && way != "readv" && way != "writev" &&
        way != "cells")
      throw bench::UsageError("there is no way '" + way + "'");
  if (cell < 64) throw bench::UsageError("--cell is at least 64");
  report.header("move",
                {{"cpus", static_cast<long>(bench::allowed_cpus().size())}, {"cell bytes", cell}});
  for (long count : buffers)
    for (const std::string& way : ways)
      for (long bytes : sizes) {
        const long fitting = std::max(2L, arena / std::max(bytes, 1L));
        const long used = std::max(1L, std::min(count, fitting));
        measure({way, static_cast<std::size_t>(std::max(bytes, 16L)),
                 static_cast<std::size_t>(used), static_cast<std::size_t>(cell), seconds},
                report);
      }
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_prototype(argc, argv, usage, body);
}
