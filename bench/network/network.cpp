// Messages between two ranks, which may be on different nodes, and what a rank keeps for each rank
// that it is connected to.
//
//   ping-pong    half of each round trip with blocking Send and Recv
//   stream       windows of non-blocking messages, each answered with four bytes when all of it is
//                there. A sample is one window
//   barrier      of all ranks
//   connections  the resident memory of rank 0 after 8 bytes to and from one rank of the second
//                half, and after the same with all of them: the growth by one of these
// The pair of the first two can be chosen; all other ranks wait meanwhile in a barrier. Turns are
// counted in the first eight bytes of a message and checked, so what is timed has really arrived.
//
// Plain MPI: compiles with the C++ wrapper of any implementation.
#include <cstring>

#include "../common/memory.h"
#include "../common/mpi_program.h"

namespace {

const char usage[] =
    "network: messages of a pair of ranks, and memory by connected rank\n"
    "  --operations LIST  ping-pong, stream, barrier, connections (default ping-pong,stream)\n"
    "  --pair A,B         the two ranks (default: the first and the last)\n"
    "  --bytes LIST       of a ping-pong (default 8)\n"
    "  --windows LIST     of streams, bytes:messages (default 8:64,64K:64,1M:16,16M:4)\n"
    "  --seconds S        per point (default 0.3)\n"
    "  --json\n";

constexpr int message_tag = 1, answer_tag = 2;

class Pair {
 public:
  Pair(int rank, int first, int second)
      : me_(rank), other_(rank == first ? second : first), leads_(rank == first) {
    MPI_Comm_split(MPI_COMM_WORLD, leads_ || rank == second ? 0 : MPI_UNDEFINED, leads_ ? 0 : 1,
                   &together);
  }
  ~Pair() {
    if (together != MPI_COMM_NULL) MPI_Comm_free(&together);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  // What is measured goes by MPI_COMM_WORLD; this one is for agreements. MPI_COMM_NULL: not in it.
  MPI_Comm together = MPI_COMM_NULL;

  void round_trip(char* out, char* in, int bytes) {
    if (leads_) send(out, bytes);
    MPI_Recv(in, bytes, MPI_CHAR, other_, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(in, bytes);
    if (!leads_) send(out, bytes);
    turn_++;
  }

  void window(std::vector<MPI_Request>& requests, char* buffer, int bytes) {
    if (leads_) stamp(buffer, bytes);
    for (MPI_Request& request : requests)
      if (leads_)
        MPI_Isend(buffer, bytes, MPI_CHAR, other_, message_tag, MPI_COMM_WORLD, &request);
      else
        MPI_Irecv(buffer, bytes, MPI_CHAR, other_, message_tag, MPI_COMM_WORLD, &request);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    char answer[4] = {};
    if (leads_) {
      MPI_Recv(answer, 4, MPI_CHAR, other_, answer_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      check(buffer, bytes);
      MPI_Send(answer, 4, MPI_CHAR, other_, answer_tag, MPI_COMM_WORLD);
    }
    turn_++;
  }

 private:
  void send(char* out, int bytes) {
    stamp(out, bytes);
    MPI_Send(out, bytes, MPI_CHAR, other_, message_tag, MPI_COMM_WORLD);
  }
  void stamp(char* message, int bytes) const {
    if (bytes >= 8) std::memcpy(message, &turn_, 8);
  }
  void check(const char* message, int bytes) const {
    if (bytes >= 8 && std::memcmp(message, &turn_, 8) != 0)
      bench::measured_wrong("network: a message of rank " + std::to_string(other_) + " to " +
                            std::to_string(me_) + " carries another turn's data");
  }

  const int me_, other_;
  const bool leads_;
  std::uint64_t turn_ = 0;
};

// Of the pair alone: how long each turn took, in ns.
std::vector<double> time_turns(MPI_Comm together, double seconds, long most,
                               const std::function<void()>& turn) {
  const long turns = bench::turns_in(together, seconds, 10, most, [&](long n) {
    for (long i = 0; i < n; i++) turn();
  });
  std::vector<std::uint64_t> stamps(static_cast<std::size_t>(turns) + 1);
  MPI_Barrier(together);
  stamps[0] = bench::now_ns();
  for (std::size_t i = 1; i < stamps.size(); i++) {
    turn();
    stamps[i] = bench::now_ns();
  }
  return bench::differences(stamps);
}

void ping_pong(bench::Report& report, Pair& pair, long bytes, double seconds) {
  const bench::Keys keys{{"bytes", bytes}};
  report.start("ping-pong", keys);
  bench::Buffers buffers(2, static_cast<std::size_t>(bytes), 1);
  const auto turns = time_turns(pair.together, seconds, 200000, [&] {
    pair.round_trip(buffers.at(0), buffers.at(1), static_cast<int>(bytes));
  });
  report.row("ping-pong", keys, "us", bench::distribution_of(turns).scaled(0.5e-3));
}

void stream(bench::Report& report, Pair& pair, long bytes, long messages, double seconds) {
  const bench::Keys keys{{"bytes", bytes}, {"window", messages}};
  report.start("stream", keys);
  bench::Buffers buffers(1, static_cast<std::size_t>(bytes), 1);
  std::vector<MPI_Request> requests(static_cast<std::size_t>(messages));
  const auto windows = time_turns(pair.together, seconds, 100000, [&] {
    pair.window(requests, buffers.at(0), static_cast<int>(bytes));
  });
  // Small messages are a matter of rate, large ones of bandwidth. A rate's worst is its smallest:
  // percentiles are the window's.
  const bool small = bytes <= 1024;
  const double moved = static_cast<double>(small ? messages : messages * bytes) * 1e3;
  const bench::Distribution times = bench::distribution_of(windows);
  const bench::Distribution rates{moved / times.mean, moved / times.mean, moved / times.max,
                                  moved / times.p99,  moved / times.min,  times.samples};
  report.row("stream", keys, small ? "1e6/s" : "MB/s", rates);
}

void barrier(bench::Program& program, double seconds) {
  program.report.start("barrier", {});
  const auto turns =
      time_turns(MPI_COMM_WORLD, seconds, 100000, [] { MPI_Barrier(MPI_COMM_WORLD); });
  program.report.row("barrier", {}, "us", bench::distribution_of(turns).scaled(1e-3));
}

void connections(bench::Program& program) {
  const int half = program.ranks / 2, count = program.ranks - half;
  const bench::Keys keys{{"connections", count}};
  program.report.start("memory by connection", keys);
  std::uint64_t number = 0;
  const auto greet = [&](int from, int to) {
    for (int rank = from; rank < to; rank++) {
      if (program.rank == 0) MPI_Send(&number, 1, MPI_UINT64_T, rank, message_tag, MPI_COMM_WORLD);
      if (program.rank == rank) {
        MPI_Recv(&number, 1, MPI_UINT64_T, 0, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&number, 1, MPI_UINT64_T, 0, answer_tag, MPI_COMM_WORLD);
      }
      if (program.rank == 0)
        MPI_Recv(&number, 1, MPI_UINT64_T, rank, answer_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  };
  greet(half, half + 1);
  const double one = bench::resident_kib();
  greet(half + 1, program.ranks);
  const double each = (bench::resident_kib() - one) / (count - 1);
  program.report.row("memory by connection", keys, "KiB", bench::distribution_of({each}));
}

void body(bench::Program& program) {
  const auto operations = program.options.texts("operations", "ping-pong,stream");
  const auto chosen = program.options.sizes("pair", "0," + std::to_string(program.ranks - 1));
  const auto sizes = program.options.sizes("bytes", "8");
  const auto windows = program.options.texts("windows", "8:64,64K:64,1M:16,16M:4");
  const double seconds = program.options.seconds("seconds", 0.3);
  if (chosen.size() != 2 || chosen[0] == chosen[1] ||
      std::max(chosen[0], chosen[1]) >= program.ranks)
    throw bench::UsageError("--pair wants two ranks of the job");
  std::vector<std::pair<long, long>> streams;
  for (const std::string& window : windows) {
    const std::size_t colon = window.find(':');
    if (colon == std::string::npos) throw bench::UsageError("--windows wants bytes:messages");
    streams.emplace_back(bench::parse_size(window.substr(0, colon)),
                         std::max(1L, bench::parse_size(window.substr(colon + 1))));
  }
  for (const std::string& operation : operations) {
    if (operation != "ping-pong" && operation != "stream" && operation != "barrier" &&
        operation != "connections")
      throw bench::UsageError("there is no operation '" + operation + "'");
    if (operation == "connections" && program.ranks < 4)
      throw bench::UsageError("connections wants 4 ranks or more");
  }
  program.begin("network", {{"seconds per point", seconds}});
  // Before anything else has made a connection.
  const auto wanted = [&](const char* operation) {
    return std::find(operations.begin(), operations.end(), operation) != operations.end();
  };
  if (wanted("connections")) connections(program);
  const int first = static_cast<int>(chosen[0]), second = static_cast<int>(chosen[1]);
  Pair pair(program.rank, first, second);
  // The pair's first one speaks.
  bench::Report report(program.rank == first, program.options.flag("json"));
  if (pair.together != MPI_COMM_NULL && wanted("ping-pong"))
    for (long bytes : sizes) ping_pong(report, pair, bytes, seconds);
  if (pair.together != MPI_COMM_NULL && wanted("stream"))
    for (const auto& [bytes, messages] : streams) stream(report, pair, bytes, messages, seconds);
  MPI_Barrier(MPI_COMM_WORLD);
  if (wanted("barrier")) barrier(program, seconds);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, usage, body);
}
