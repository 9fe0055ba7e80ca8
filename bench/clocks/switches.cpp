// A whole switch between two thread ranks of one worker, in place: from the moment before one rank
// calls MPIX_Yield to the moment when the other one returns from its own. With no clock asked for,
// with MPIX_Rtime and in a section of MPIX_Ptime. Reading the counter is in it.
//   taskset -c 1 mpiexec --as threads -n 2 build/release/bench/clocks-switches
// Prints lines "case switch quantile ns", as logic.cpp does.
#include <meantime.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr int switches = 70000;
int rank = 0;

std::vector<std::uint64_t> take_turns() {
  std::vector<std::uint64_t> stamps(2 * switches);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < switches; i++) {
    stamps[2 * i] = __rdtsc();
    MPIX_Yield();
    stamps[2 * i + 1] = __rdtsc();
  }
  return stamps;
}

// A tick in ns.
double tick_ns() {
  const double start = MPI_Wtime();
  const std::uint64_t first = __rdtsc();
  double now = start;
  while (now - start < 0.05) now = MPI_Wtime();
  return (now - start) * 1e9 / static_cast<double>(__rdtsc() - first);
}

void report(const char* name, const std::vector<std::uint64_t>& mine, double tick) {
  std::vector<std::uint64_t> other(mine.size());
  const int count = static_cast<int>(mine.size());
  if (rank == 1) {
    MPI_Send(mine.data(), count, MPI_UINT64_T, 0, 1, MPI_COMM_WORLD);
    return;
  }
  MPI_Recv(other.data(), count, MPI_UINT64_T, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  std::vector<double> values;
  // The other's first return after each of my departures, if it is before my own return.
  std::size_t there = 1;
  for (std::size_t i = 0; i < mine.size(); i += 2) {
    while (there < other.size() && other[there] < mine[i]) there += 2;
    if (there < other.size() && other[there] < mine[i + 1])
      values.push_back(static_cast<double>(other[there] - mine[i]) * tick);
  }
  std::sort(values.begin(), values.end());
  if (values.size() < 1000) {
    std::fprintf(stderr, "only %zu switches: two thread ranks of one worker are wanted\n",
                 values.size());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const auto print = [&](double quantile) {
    const auto at = static_cast<std::size_t>(quantile * static_cast<double>(values.size()));
    std::printf("%s switch %.4f %.2f\n", name, quantile, values[std::min(at, values.size() - 1)]);
  };
  for (int i = 0; i < 200; i++) print(i / 200.0);
  for (double quantile : {0.99, 0.999, 1.0}) print(quantile);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double tick = tick_ns();
  const auto warm_up = take_turns();
  // A clock once asked for stays: in this order.
  const auto none = take_turns();
  MPIX_Start_processor_timer();
  const auto section = take_turns();
  MPIX_Stop_processor_timer();
  MPIX_Rtime();
  const auto ranks_clock = take_turns();
  report("none", none, tick);
  report("Rtime", ranks_clock, tick);
  report("Ptime", section, tick);
  MPI_Finalize();
}
