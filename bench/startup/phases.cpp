// A small job for running several at once: computation and an 8-byte Allreduce, in turns.
//
// The amount of computation is fixed (in rounds of arithmetic, not in time), so every run does the
// same; it prints its own wall-clock and CPU time.
#include "../common/mpi_program.h"

namespace {

const char usage[] =
    "phases: computation and an 8-byte allreduce in turns\n"
    "  --phases N    (default 500)\n"
    "  --rounds N    rounds of arithmetic per phase and rank (default 100000, about 0.1 ms)\n"
    "  --json\n";

double compute(long rounds) {
  std::uint64_t value = 88172645463325252u;
  for (long i = 0; i < rounds; i++) {
    value = value * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(value));
  }
  return static_cast<double>(value >> 40);
}

void body(bench::Program& program) {
  const long phases = program.options.count("phases", 500);
  const long rounds = program.options.count("rounds", 100000);
  program.begin("phases", {{"phases", phases}, {"rounds", rounds}});
  const std::uint64_t start = bench::now_ns();
  double sum = 0;
  for (long i = 0; i < phases; i++) {
    double mine = compute(rounds);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  if (sum != program.ranks * compute(rounds)) bench::measured_wrong("phases: the sum is wrong");
  const double wall = static_cast<double>(bench::now_ns() - start) * 1e-9;
  const double mine = static_cast<double>(bench::process_cpu_ns()) * 1e-9;
  double cpu = 0;
  MPI_Reduce(&mine, &cpu, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  program.report.row("wall-clock time", {}, "s", {wall, wall, wall, wall, wall, 1});
  program.report.row("CPU time of all ranks", {}, "s", {cpu, cpu, cpu, cpu, cpu, 1});
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, usage, body);
}
