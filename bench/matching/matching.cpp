// An 8-byte ping-pong while other entries lie in the receivers' queues: what a search costs.
//
// `posted`: both ranks have posted N receives that nothing matches yet, before the one that is
// timed. `posted any-source`: the same with MPI_ANY_SOURCE. `unexpected`: N messages of other tags
// have arrived at both ranks and nobody has asked for them. Afterwards all are received and
// checked.
#include "../common/mpi_program.h"

namespace {

const char usage[] =
    "matching: 8-byte ping-pong of two ranks over filled queues, half round trip\n"
    "  --entries LIST    entries in the queue (default 0,10,100,1000,10000)\n"
    "  --kinds LIST      posted, any-source, unexpected (default: all)\n"
    "  --seconds S       per point (default 0.3)\n"
    "  --json\n";

const int timed_tag = 1, filling_tag = 100;

struct Queue {
  int other;
  std::string kind;
  std::vector<int> values;
  std::vector<MPI_Request> requests;

  Queue(int rank, const std::string& which, long entries)
      : other(1 - rank), kind(which), values(static_cast<std::size_t>(entries), -1) {}

  void fill() {
    const int source = kind == "any-source" ? MPI_ANY_SOURCE : other;
    for (std::size_t i = 0; i < values.size(); i++) {
      const int tag = filling_tag + static_cast<int>(i);
      requests.emplace_back();
      if (kind == "unexpected") {
        values[i] = tag;
        MPI_Isend(&values[i], 1, MPI_INT, other, tag, MPI_COMM_WORLD, &requests.back());
      } else {
        MPI_Irecv(&values[i], 1, MPI_INT, source, tag, MPI_COMM_WORLD, &requests.back());
      }
    }
    // Everything sent before this pair of messages arrives before it.
    int token = 0;
    MPI_Sendrecv_replace(&token, 1, MPI_INT, other, 2, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void empty() {
    for (std::size_t i = 0; i < values.size(); i++) {
      int value = filling_tag + static_cast<int>(i);
      if (kind == "unexpected") {
        int found = -1;
        MPI_Recv(&found, 1, MPI_INT, other, value, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (found != value) bench::measured_wrong("matching: an unexpected message was mixed up");
      } else {
        MPI_Send(&value, 1, MPI_INT, other, value, MPI_COMM_WORLD);
      }
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (std::size_t i = 0; i < values.size(); i++)
      if (values[i] != filling_tag + static_cast<int>(i))
        bench::measured_wrong("matching: a posted receive got another's message");
  }
};

void round_trip(int rank) {
  long data = 0;
  const int other = 1 - rank;
  if (rank == 0) MPI_Send(&data, 8, MPI_BYTE, other, timed_tag, MPI_COMM_WORLD);
  MPI_Recv(&data, 8, MPI_BYTE, other, timed_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(&data, 8, MPI_BYTE, other, timed_tag, MPI_COMM_WORLD);
}

void measure(bench::Program& program, const std::string& kind, long entries, double seconds) {
  const bench::Keys keys{{"kind", kind}, {"entries", entries}};
  program.report.start("matching", keys);
  Queue queue(program.rank, kind, entries);
  queue.fill();
  const long turns = bench::turns_in(MPI_COMM_WORLD, seconds, 10, 200000, [&](long n) {
    for (long i = 0; i < n; i++) round_trip(program.rank);
  });
  std::vector<std::uint64_t> stamps(static_cast<std::size_t>(turns) + 1);
  stamps[0] = bench::now_ns();
  for (std::size_t i = 1; i < stamps.size(); i++) {
    round_trip(program.rank);
    stamps[i] = bench::now_ns();
  }
  queue.empty();
  program.report.row("matching", keys, "us",
                     bench::distribution_of(bench::differences(stamps)).scaled(0.5e-3));
}

void body(bench::Program& program) {
  const auto entries = program.options.sizes("entries", "0,10,100,1000,10000");
  const auto kinds = program.options.texts("kinds", "posted,any-source,unexpected");
  const double seconds = program.options.seconds("seconds", 0.3);
  if (program.ranks != 2) throw bench::UsageError("matching wants 2 ranks");
  for (const std::string& kind : kinds)
    if (kind != "posted" && kind != "any-source" && kind != "unexpected")
      throw bench::UsageError("--kinds are posted, any-source and unexpected");
  program.begin("matching", {{"seconds per point", seconds}});
  for (const std::string& kind : kinds)
    for (long count : entries) measure(program, kind, count, seconds);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, usage, body);
}
