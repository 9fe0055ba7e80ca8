// Windows of non-blocking messages, in the manner of osu_bw, osu_bibw and osu_mbw_mr.
//
// The first half of the ranks sends a window of messages to its partners in the second half, each
// of which answers with four bytes when the whole window is there. `both` sends windows both ways
// at once. As in OSU's programs every message of a window uses the same buffer. A sample is one
// window as rank 0 sees it.
#include "../common/mpi_program.h"

namespace {

const char usage[] =
    "bandwidth: windows of messages between pairs of ranks\n"
    "  --bytes LIST      message sizes (default 1,8,64,512,1K,4K,16K,64K,256K,1M,4M)\n"
    "  --ways LIST       one, both (default one,both; with more than one pair only one)\n"
    "  --window N        messages of a window (default 64)\n"
    "  --seconds S       per size (default 0.3)\n"
    "  --json\n";

struct Window {
  int me, partner, bytes;
  bool first_half, both_ways;
  bench::Buffers out, in;
  std::vector<MPI_Request> receives, sends;

  Window(const bench::Program& program, long size, long messages, bool both)
      : me(program.rank),
        partner((program.rank + program.ranks / 2) % program.ranks),
        bytes(static_cast<int>(size)),
        first_half(program.rank < program.ranks / 2),
        both_ways(both),
        out(1, static_cast<std::size_t>(size), 1),
        in(1, static_cast<std::size_t>(size), 2) {
    if (both_ways || !first_half) receives.resize(static_cast<std::size_t>(messages));
    if (both_ways || first_half) sends.resize(static_cast<std::size_t>(messages));
  }

  void run() {
    for (MPI_Request& request : receives)
      MPI_Irecv(in.at(0), bytes, MPI_CHAR, partner, 10, MPI_COMM_WORLD, &request);
    for (MPI_Request& request : sends)
      MPI_Isend(out.at(0), bytes, MPI_CHAR, partner, 10, MPI_COMM_WORLD, &request);
    MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
    MPI_Waitall(static_cast<int>(receives.size()), receives.data(), MPI_STATUSES_IGNORE);
    char answer[4] = {};
    if (first_half)
      MPI_Recv(answer, 4, MPI_CHAR, partner, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(answer, 4, MPI_CHAR, partner, 11, MPI_COMM_WORLD);
  }
};

void measure(bench::Program& program, long bytes, long messages, bool both, double seconds) {
  const long pairs = program.ranks / 2;
  const bench::Keys keys{{"ways", both ? "both" : "one"}, {"pairs", pairs}, {"bytes", bytes}};
  program.report.start("bandwidth", keys);
  Window window(program, bytes, messages, both);
  const long turns = bench::turns_in(MPI_COMM_WORLD, seconds, 5, 100000, [&](long n) {
    for (long i = 0; i < n; i++) window.run();
  });
  std::vector<std::uint64_t> stamps(static_cast<std::size_t>(turns) + 1);
  MPI_Barrier(MPI_COMM_WORLD);
  stamps[0] = bench::now_ns();
  for (std::size_t i = 1; i < stamps.size(); i++) {
    window.run();
    stamps[i] = bench::now_ns();
  }
  // All pairs run the same number of windows; the whole takes as long as the slowest pair.
  double whole = static_cast<double>(stamps.back() - stamps.front()), slowest = 0;
  MPI_Reduce(&whole, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  const double moved = static_cast<double>(messages * pairs * (both ? 2 : 1));
  bench::Distribution windows = bench::distribution_of(bench::differences(stamps));
  program.report.row("window", keys, "us", windows.scaled(1e-3));

  bench::Distribution rate;  // a rate's worst is its smallest: percentiles are the window's
  rate.samples = windows.samples;
  rate.mean = rate.median = moved * static_cast<double>(turns) / slowest * 1e3;
  rate.max = moved / windows.min * 1e3;
  rate.p99 = moved / windows.p99 * 1e3;
  rate.min = moved / windows.max * 1e3;
  program.report.row("bandwidth", keys, "MB/s", rate.scaled(static_cast<double>(bytes)));
  program.report.row("message rate", keys, "1e6/s", rate);
}

void body(bench::Program& program) {
  const auto sizes = program.options.sizes("bytes", "1,8,64,512,1K,4K,16K,64K,256K,1M,4M");
  const auto ways = program.options.texts("ways", program.ranks == 2 ? "one,both" : "one");
  const long messages = program.options.count("window", 64);
  const double seconds = program.options.seconds("seconds", 0.3);
  if (program.ranks < 2 || program.ranks % 2)
    throw bench::UsageError("bandwidth wants pairs of ranks");
  if (messages < 1) throw bench::UsageError("a window has one message or more");
  for (const std::string& way : ways)
    if (way != "one" && way != "both") throw bench::UsageError("--ways are one and both");
  program.begin("bandwidth", {{"window", messages}, {"seconds per size", seconds}});
  for (const std::string& way : ways)
    for (long bytes : sizes) measure(program, bytes, messages, way == "both", seconds);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, usage, body);
}
