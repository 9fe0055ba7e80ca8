// The pattern of the paper on collaborative polling (its Figure 2): each rank computes for a while
// without MPI, some longer than others, then waits for messages of several sizes that it asked for
// before, and all join a small reduction. Who computes long finds its messages arrived if somebody
// has moved them meanwhile; else its waits are where they travel.
//
// Rank r has its messages from the rank half the world away, which is on another node if nodes have
// ranks in blocks, and so have both their work: of each pair one computes --long-us and one
// --short-us, in turns (`--balanced`: both the mean of them).
//   busy     time in MPI_Wait, a turn, of who computed long: it arrived during the computation
//   idle     the same of the others
//   reduce   time in MPI_Allreduce, a turn, of all
//   turn     from when the first rank begins until the last one ends
// Any MPI: compile with its C++ wrapper, -std=c++17.
#include <cmath>

#include "../common/compute.h"
#include "../common/mpi_program.h"

namespace {

const char usage[] =
    "collaborative: waits for messages that arrived while a rank computed\n"
    "mpiexec -n 2 collaborative          an even number of ranks\n"
    "  --bytes LIST    of the messages of a turn (default 1K,32K,256K,1M)\n"
    "  --long-us T     of computation (default 4000)\n"
    "  --short-us T    (default 1000)\n"
    "  --balanced      all compute the mean of the two\n"
    "  --turns N       of one batch (default 40)\n"
    "  --batches N     (default 5)\n"
    "  --rate R        rounds of computation a microsecond (default: as found)\n"
    "  --json          one JSON object a line\n";

struct Message {
  std::vector<char> out, in;
};

// A turn's, in seconds.
struct Times {
  double busy = 0, idle = 0, reduce = 0;
};

class Pair {
 public:
  Pair(const bench::Program& program, const std::vector<long>& bytes)
      : rank_(program.rank), other_((program.rank + program.ranks / 2) % program.ranks) {
    for (const long each : bytes) {
      const auto size = static_cast<std::size_t>(each);
      messages_.push_back({std::vector<char>(size), std::vector<char>(size)});
    }
  }

  Times turn(long number, long long_rounds, long short_rounds) {
    const bool lower = rank_ < other_;
    const bool is_busy = (number % 2 == 0) == lower;
    std::vector<MPI_Request> receives(messages_.size()), sends(messages_.size());
    for (std::size_t i = 0; i < messages_.size(); i++) {
      Message& message = messages_[i];
      const int size = static_cast<int>(message.in.size()), tag = static_cast<int>(i);
      MPI_Irecv(message.in.data(), size, MPI_CHAR, other_, tag, MPI_COMM_WORLD, &receives[i]);
    }
    for (std::size_t i = 0; i < messages_.size(); i++) {
      Message& message = messages_[i];
      message.out.back() = static_cast<char>(number);
      MPI_Isend(message.out.data(), static_cast<int>(message.out.size()), MPI_CHAR, other_,
                static_cast<int>(i), MPI_COMM_WORLD, &sends[i]);
    }
    bench::compute(is_busy ? long_rounds : short_rounds);
    const double start = MPI_Wtime();
    for (MPI_Request& request : receives) MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (MPI_Request& request : sends) MPI_Wait(&request, MPI_STATUS_IGNORE);
    const double waited = MPI_Wtime();
    for (const Message& message : messages_)
      if (message.in.back() != static_cast<char>(number))
        bench::measured_wrong("collaborative: wrong data arrived");
    double mine = 1, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    const double reduced = MPI_Wtime();
    return {is_busy ? waited - start : 0, is_busy ? 0 : waited - start, reduced - waited};
  }

 private:
  const int rank_, other_;
  std::vector<Message> messages_;
};

void body(bench::Program& program) {
  bench::Options& options = program.options;
  const std::vector<long> bytes = options.sizes("bytes", "1K,32K,256K,1M");
  double long_us = static_cast<double>(options.number("long-us", 4000));
  double short_us = static_cast<double>(options.number("short-us", 1000));
  const bool balanced = options.flag("balanced");
  const long turns = options.count("turns", 40), batches = options.count("batches", 5);
  const double given_rate = static_cast<double>(options.number("rate", 0));
  options.finish();
  if (program.ranks % 2 != 0) throw bench::UsageError("an even number of ranks");
  for (const long each : bytes)
    if (each < 1 || each > 1L << 30) throw bench::UsageError("--bytes: from 1 to 1G");
  if (balanced) long_us = short_us = (long_us + short_us) / 2;
  const double rate = given_rate > 0 ? given_rate : bench::rounds_per_us();
  program.begin("collaborative", {{"long_us", long_us}, {"short_us", short_us}, {"rate", rate}});
  const long long_rounds = std::lround(long_us * rate), short_rounds = std::lround(short_us * rate);
  Pair pair(program, bytes);
  for (long turn = 0; turn < 4; turn++) pair.turn(turn, long_rounds, short_rounds);  // warm
  std::vector<double> of[4];
  for (long batch = 0; batch < batches; batch++) {
    MPI_Barrier(MPI_COMM_WORLD);
    Times sum;
    const double start = MPI_Wtime();
    for (long turn = 0; turn < turns; turn++) {
      const Times times = pair.turn(turn, long_rounds, short_rounds);
      sum.busy += times.busy;
      sum.idle += times.idle;
      sum.reduce += times.reduce;
    }
    const double elapsed = MPI_Wtime() - start;
    // Half of a rank's turns are busy ones.
    const double n = static_cast<double>(turns), ranks = program.ranks;
    const double mine[4] = {2 * sum.busy / n / ranks, 2 * sum.idle / n / ranks,
                            sum.reduce / n / ranks, elapsed / n / ranks};
    double all[4] = {};
    MPI_Allreduce(mine, all, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 4; i++) of[i].push_back(all[i] * 1e6);
  }
  const char* const names[4] = {"busy", "idle", "reduce", "turn"};
  for (int i = 0; i < 4; i++) program.report.row(names[i], {}, "us", bench::distribution_of(of[i]));
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, usage, body);
}
