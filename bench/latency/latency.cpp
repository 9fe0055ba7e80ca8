// Ping-pong between ranks 0 and 1 with blocking Send and Recv: half of each round trip.
//
// With one buffer the data stays in the caches; with 64 rotating ones it does not. The first eight
// bytes of a message count the turns and are checked, so what is timed has really arrived.
#include <cstring>

#include "../common/mpi_program.h"

namespace {

const char usage[] =
    "latency: ping-pong of two ranks, half round trip\n"
    "  --bytes LIST      message sizes (default 0,1,8,64,512,1K,4K,16K,64K,256K,1M,4M,16M)\n"
    "  --buffers LIST    buffers used in turn (default 1,64)\n"
    "  --seconds S       per size (default 0.3)\n"
    "  --json\n";

struct Pair {
  int me;
  bench::Buffers out, in;
  int bytes;
  std::uint64_t turn = 0;

  Pair(int rank, std::size_t count, std::size_t size)
      : me(rank), out(count, size, 1), in(count, size, 2), bytes(static_cast<int>(size)) {}

  void stamp(char* message) const {
    if (bytes >= 8) std::memcpy(message, &turn, 8);
  }
  void check(const char* message) const {
    std::uint64_t found = turn;
    if (bytes >= 8) std::memcpy(&found, message, 8);
    if (found != turn) bench::measured_wrong("latency: a message carries another turn's data");
  }
  void send() {
    char* message = out.at(turn);
    stamp(message);
    MPI_Send(message, bytes, MPI_CHAR, 1 - me, 7, MPI_COMM_WORLD);
  }
  void receive() {
    char* message = in.at(turn);
    MPI_Recv(message, bytes, MPI_CHAR, 1 - me, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(message);
  }
  void round_trip() {
    if (me == 0) {
      send();
      receive();
    } else {
      receive();
      send();
    }
    turn++;
  }
};

void measure(bench::Program& program, long bytes, long buffers, double seconds) {
  const bench::Keys keys{{"bytes", bytes}, {"buffers", buffers}};
  program.report.start("ping-pong", keys);
  Pair pair(program.rank, static_cast<std::size_t>(buffers), static_cast<std::size_t>(bytes));
  const long turns =
      bench::turns_in(MPI_COMM_WORLD, seconds, std::max(10L, buffers), 200000, [&](long n) {
        for (long i = 0; i < n; i++) pair.round_trip();
      });
  std::vector<std::uint64_t> stamps(static_cast<std::size_t>(turns) + 1);
  MPI_Barrier(MPI_COMM_WORLD);
  stamps[0] = bench::now_ns();
  for (std::size_t i = 1; i < stamps.size(); i++) {
    pair.round_trip();
    stamps[i] = bench::now_ns();
  }
  program.report.row("ping-pong", keys, "us",
                     bench::distribution_of(bench::differences(stamps)).scaled(0.5e-3));
}

void body(bench::Program& program) {
  const auto sizes = program.options.sizes("bytes", "0,1,8,64,512,1K,4K,16K,64K,256K,1M,4M,16M");
  const auto buffers = program.options.sizes("buffers", "1,64");
  const double seconds = program.options.seconds("seconds", 0.3);
  if (program.ranks != 2) throw bench::UsageError("latency wants 2 ranks");
  program.begin("latency", {{"seconds per size", seconds}});
  for (long count : buffers)
    for (long bytes : sizes) measure(program, bytes, std::max(1L, count), seconds);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, usage, body);
}
