// A collective and then a barrier, in turns: so that nobody runs ahead, as a root of a broadcast
// does in a loop of broadcasts. A sample is some turns, by rank 0.
//
// Plain MPI: compiles with the C++ wrapper of any implementation.
#include <functional>
#include <string>
#include <vector>

#include "../common/mpi_program.h"

namespace {

const char usage[] =
    "turns: time of a collective with a barrier behind it\n"
    "  --bytes LIST   of bcast, allreduce, alltoall (default 8,1M)\n"
    "  --turns N      a sample, of short ones; of long ones a tenth (default 100)\n"
    "  --samples N    (default 9)\n"
    "  --json\n";

class Turns {
 public:
  Turns(bench::Program& program, int turns, int samples)
      : program_(program), turns_(turns), samples_(samples) {}

  void measure(const std::string& name, long bytes, const std::function<void()>& collective) {
    const int turns = bytes > 4096 ? std::max(1, turns_ / 10) : turns_;
    std::vector<double> found;
    for (int sample = -1; sample < samples_; ++sample) {
      MPI_Barrier(MPI_COMM_WORLD);
      const std::uint64_t start = bench::now_ns();
      for (int turn = 0; turn < turns; ++turn) {
        collective();
        MPI_Barrier(MPI_COMM_WORLD);
      }
      const auto ns = static_cast<double>(bench::now_ns() - start);
      if (sample >= 0) found.push_back(ns * 1e-3 / turns);  // the first one makes connections
    }
    program_.report.row(name, {{"bytes", bytes}}, "us", bench::distribution_of(found));
  }

 private:
  bench::Program& program_;
  const int turns_, samples_;
};

void body(bench::Program& program) {
  const auto sizes = program.options.sizes("bytes", "8,1M");
  const auto turns = static_cast<int>(program.options.count("turns", 100));
  const auto samples = static_cast<int>(program.options.count("samples", 9));
  program.begin("turns");
  Turns measured(program, turns, samples);
  measured.measure("barrier", 0, [] {});
  for (const long bytes : sizes) {
    const auto block = static_cast<std::size_t>(bytes);
    const auto count = static_cast<int>(bytes);
    const auto ranks = static_cast<std::size_t>(program.ranks);
    std::vector<double> from(block * ranks / sizeof(double)), into(from.size());
    measured.measure("bcast", bytes,
                     [&] { MPI_Bcast(from.data(), count, MPI_CHAR, 0, MPI_COMM_WORLD); });
    measured.measure("allreduce", bytes, [&] {
      MPI_Allreduce(from.data(), into.data(), count / static_cast<int>(sizeof(double)), MPI_DOUBLE,
                    MPI_SUM, MPI_COMM_WORLD);
    });
    measured.measure("alltoall", bytes, [&] {
      MPI_Alltoall(from.data(), count, MPI_CHAR, into.data(), count, MPI_CHAR, MPI_COMM_WORLD);
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, usage, body);
}
