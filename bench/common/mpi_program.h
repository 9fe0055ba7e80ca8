// The frame of a measuring MPI program: start, options, report, end; and how often to repeat.
//
// Plain MPI: compiles with the C++ wrapper of any implementation.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "options.h"
#include "report.h"
#include "samples.h"

namespace bench {

inline std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string whole(text, static_cast<std::size_t>(length));
  return whole.substr(0, whole.find_first_of("\r\n"));
}

struct Program {
  int rank, ranks;
  Options options;
  Report report;

  // Every option has been read: complain of others, then print the header.
  void begin(const std::string& name, Keys keys = {}) {
    options.finish();
    keys.insert(keys.begin(), {{"mpi", library_version()}, {"ranks", ranks}});
    report.header(name, keys);
  }
};

// A mistake in what was measured (wrong data, say) ends the whole job.
[[noreturn]] inline void measured_wrong(const std::string& what) {
  std::fprintf(stderr, "bench: %s\n", what.c_str());
  MPI_Abort(MPI_COMM_WORLD, 3);
  std::abort();
}

inline int run_program(int argc, char** argv, const char* usage,
                       const std::function<void(Program&)>& body) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, status = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Options options(argc, argv);
  if (options.flag("help")) {
    if (rank == 0) std::printf("%s", usage);
  } else {
    try {
      const bool json = options.flag("json");
      Program program{rank, ranks, options, Report(rank == 0, json)};
      body(program);
    } catch (const UsageError& error) {
      status = rank == 0 ? refuse(argv[0], error) : 2;
    }
  }
  MPI_Finalize();
  return status;
}

// How many turns of `turns(n)` fit in `seconds`, the same answer on every rank of `comm`. Doubles
// as the warm-up. Rank 0 decides, by the fastest of its tries, so that one preempted try does not;
// but where one turn alone takes `seconds`, it is enough.
inline long turns_in(MPI_Comm comm, double seconds, long least, long most,
                     const std::function<void(long)>& turns) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  long answer = 0;
  double spent = 0, per_turn = seconds;
  for (long n = 1; answer == 0; n *= 4) {
    const std::uint64_t start = now_ns();
    turns(n);
    const double elapsed = static_cast<double>(now_ns() - start) * 1e-9;
    spent += elapsed;
    per_turn = std::min(per_turn, std::max(elapsed / static_cast<double>(n), 1e-9));
    if (rank == 0 && (elapsed >= seconds || (n > 1 && spent * 4 > seconds) || n >= most))
      answer = std::clamp(static_cast<long>(seconds / per_turn), least, most);
    MPI_Bcast(&answer, 1, MPI_LONG, 0, comm);
  }
  return answer;
}

// Memory for messages, written once so that every page is there. Aligned to a page.
class Buffers {
 public:
  Buffers(std::size_t count, std::size_t bytes, char fill)
      : stride_((bytes + 63) / 64 * 64 + (bytes ? 0 : 64)), count_(count) {
    memory_.reset(
        static_cast<char*>(std::aligned_alloc(4096, (count * stride_ + 4095) / 4096 * 4096)));
    if (!memory_) measured_wrong("out of memory for buffers");
    std::fill(memory_.get(), memory_.get() + count * stride_, fill);
  }
  char* at(std::size_t turn) { return memory_.get() + (turn % count_) * stride_; }
  std::size_t count() const { return count_; }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::size_t stride_, count_;
  std::unique_ptr<char, Free> memory_;
};

}  // namespace bench
