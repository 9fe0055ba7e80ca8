// The constants of the LogGP model between two ranks of different nodes, and what the parts of a
// collective cost on a node, each by itself:
//
//   half round trip   by bytes: L + o_send + o_receive (+ bytes)
//   send              o_send: one of a row of MPI_Isend to a rank that does not look
//   joined            a value of 8 bytes, and a byte of a long vector, by MPI_Reduce_local
//
// Plain MPI: compiles with the C++ wrapper of any implementation. Run with MEANTIME_HELPER=off.
#include <unistd.h>

#include <string>
#include <vector>

#include "../common/mpi_program.h"

namespace {

const char usage[] =
    "constants: of a LogGP model, between the first and the last rank\n"
    "  --bytes LIST   of half round trips (default 8,1M)\n"
    "  --row N        messages in a row (default 64)\n"
    "  --samples N    (default 31)\n"
    "  --json\n";

constexpr int tag = 1;

class Measured {
 public:
  Measured(bench::Program& program, int row, int samples)
      : program_(program), row_(row), samples_(samples) {}

  void half_round_trips(long bytes) {
    std::vector<char> buffer(static_cast<std::size_t>(bytes));
    const int turns = bytes > 4096 ? 10 : 100;
    sample("half round trip", {{"bytes", bytes}}, 2.0 * turns, [&] {
      for (int turn = 0; turn < turns; ++turn) {
        if (program_.rank == 0) send(buffer.data(), bytes);
        if (program_.rank != 0) receive(buffer.data(), bytes);
        if (program_.rank != 0) send(buffer.data(), bytes);
        if (program_.rank == 0) receive(buffer.data(), bytes);
      }
    });
  }

  // The other one looks when all have left.
  void sends() {
    std::vector<MPI_Request> requests(static_cast<std::size_t>(row_));
    std::vector<double> found;
    for (int sample = 0; sample < samples_ && takes_part(); ++sample) {
      if (program_.rank == 0) {
        const std::uint64_t start = bench::now_ns();
        for (MPI_Request& request : requests)
          MPI_Isend(word_, sizeof word_, MPI_CHAR, other(), tag, MPI_COMM_WORLD, &request);
        found.push_back(since(start));
        MPI_Waitall(row_, requests.data(), MPI_STATUSES_IGNORE);
        receive(word_, sizeof word_);
      } else {
        usleep(5000);
        for (int message = 0; message < row_; ++message) receive(word_, sizeof word_);
        send(word_, sizeof word_);
      }
    }
    row("send", {}, found);
  }

  void joins(long values) {
    std::vector<double> from(static_cast<std::size_t>(values)), into(from.size()), found;
    for (int sample = 0; sample < samples_; ++sample) {
      const std::uint64_t start = bench::now_ns();
      for (int turn = 0; turn < row_; ++turn)
        MPI_Reduce_local(from.data(), into.data(), static_cast<int>(values), MPI_DOUBLE, MPI_SUM);
      found.push_back(since(start));
    }
    row("joined", {{"bytes", values * static_cast<long>(sizeof(double))}}, found);
  }

 private:
  bool takes_part() const { return program_.rank == 0 || program_.rank == program_.ranks - 1; }
  int other() const { return program_.rank == 0 ? program_.ranks - 1 : 0; }
  void send(char* from, long bytes) const {
    MPI_Send(from, static_cast<int>(bytes), MPI_CHAR, other(), tag, MPI_COMM_WORLD);
  }
  void receive(char* into, long bytes) const {
    MPI_Recv(into, static_cast<int>(bytes), MPI_CHAR, other(), tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  }
  double since(std::uint64_t start) const {
    return static_cast<double>(bench::now_ns() - start) * 1e-3 / row_;
  }
  template <class Turns>
  void sample(const std::string& name, const bench::Keys& keys, double parts, Turns turns) {
    std::vector<double> found;
    for (int sample = 0; sample < samples_ && takes_part(); ++sample) {
      const std::uint64_t start = bench::now_ns();
      turns();
      found.push_back(since(start) * row_ / parts);
    }
    row(name, keys, found);
  }
  void row(const std::string& name, const bench::Keys& keys, const std::vector<double>& found) {
    if (program_.rank == 0) program_.report.row(name, keys, "us", bench::distribution_of(found));
  }

  bench::Program& program_;
  const int row_, samples_;
  char word_[8] = {};
};

void body(bench::Program& program) {
  const auto sizes = program.options.sizes("bytes", "8,1M");
  const auto row = static_cast<int>(program.options.count("row", 64));
  const auto samples = static_cast<int>(program.options.count("samples", 31));
  if (program.ranks < 2) throw bench::UsageError("constants wants 2 ranks or more");
  program.begin("constants");
  Measured measured(program, row, samples);
  for (const long bytes : sizes) measured.half_round_trips(bytes);
  measured.sends();
  if (program.rank == 0)
    for (const long values : {1L, 131072L}) measured.joins(values);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, usage, body);
}
