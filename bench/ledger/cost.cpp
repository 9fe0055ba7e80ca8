// What the ledger costs a 2-rank ping-pong: one run, in which blocks of ping-pongs with the account
// and without it take turns, so that whatever else the machine does meets both alike. Four
// neighbouring blocks (with, without, without, with; or the other way round) give one ratio; told
// is the median of the ratios with its 95 % confidence interval (by order statistics, so nothing
// is assumed of how they are spread).
//   off       no wait is timed for the account (Rank::waits_to_sample never gets to 0), and
//             ledger::charge, which this program replaces (-Wl,--wrap), returns at once
//   control   ratios of blocks that are all on: how far from 1 this measurement is for nothing
// What is on in both: counting down to the next timed wait (two instructions a wait), and the times
// at which a long wait began and ended, which the policies need anyway.
// Reaches into the library, so it is linked with the archive: it measures this tree.
#include <cmath>
#include <cstdint>
#include <random>

#include "../common/mpi_program.h"
#include "ledger/accounts.h"
#include "rank/rank.h"

namespace {

bool charging = true;
// While it is off only long waits come there: short ones are not timed.
std::uint64_t not_charged = 0;

}  // namespace

// ledger::charge as the compiler names it; a change of its parameters is an error of the linker.
#define CHARGE _ZN8meantime6ledger6chargeERNS_4node8RankAreaEPNS0_11SiteAccountERKNS0_4WaitEj
#define JOINED(a, b) a##b
#define NAMED(prefix, name) JOINED(prefix, name)
extern "C" void NAMED(__real_, CHARGE)(meantime::node::RankArea& area,
                                       meantime::ledger::SiteAccount* site,
                                       const meantime::ledger::Wait& wait, std::uint32_t times);
extern "C" void NAMED(__wrap_, CHARGE)(meantime::node::RankArea& area,
                                       meantime::ledger::SiteAccount* site,
                                       const meantime::ledger::Wait& wait, std::uint32_t times) {
  if (charging)
    NAMED(__real_, CHARGE)(area, site, wait, times);
  else
    not_charged++;
}

namespace {

const char usage[] =
    "ledger-cost: what keeping the account of waits costs a ping-pong of two ranks\n"
    "  --ratios N     of four blocks each (default 2000), and half as many for control\n"
    "  --turns N      ping-pongs in a block (default 500)\n"
    "  --bytes B      of a message (default 8)\n"
    "  --on           no blocks without the account: for valgrind, say\n";

class Switch {
 public:
  void set(bool on) {
    std::uint32_t& left = meantime::self().waits_to_sample;
    if (on == charging) return;
    charging = on;
    if (on) {
      left = kept_;
    } else {
      kept_ = left;
      left = never;
    }
  }

 private:
  static constexpr std::uint32_t never = ~std::uint32_t{0};
  std::uint32_t kept_ = 1;
};

struct Blocks {
  int rank;
  std::vector<char> out, in;

  Blocks(int rank, long bytes)
      : rank(rank), out(static_cast<std::size_t>(bytes)), in(static_cast<std::size_t>(bytes)) {}

  void turns(long count) {
    const int bytes = static_cast<int>(out.size());
    for (long i = 0; i < count; i++) {
      if (rank == 0) {
        MPI_Send(out.data(), bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(in.data(), bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(in.data(), bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out.data(), bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
      }
    }
  }
  // ns a turn, after some that are for changing over.
  double run(long count) {
    turns(20);
    const std::uint64_t start = bench::now_ns();
    turns(count);
    return static_cast<double>(bench::now_ns() - start) / static_cast<double>(count);
  }
};

struct Ratios {
  std::vector<double> values;

  void print(const char* name) {
    std::sort(values.begin(), values.end());
    const double n = static_cast<double>(values.size());
    const auto at = [&](double place) {
      return 100 * (values[static_cast<std::size_t>(std::clamp(place, 0.0, n - 1))] - 1);
    };
    const double half = 1.96 * std::sqrt(n) / 2;
    std::printf(
        "%-10s %+7.3f %%   95 %%: %+7.3f to %+7.3f %%   half of them: %+6.2f to %+6.2f %%\n", name,
        at(n / 2), at(n / 2 - half), at(n / 2 + half), at(n / 4), at(3 * n / 4));
  }
};

void body(bench::Program& program) {
  const long ratios = program.options.count("ratios", 2000);
  const long turns = program.options.count("turns", 500);
  const long bytes = program.options.number("bytes", 8);
  const bool always_on = program.options.flag("on");
  program.options.finish();
  if (program.ranks != 2) throw bench::UsageError("ledger-cost wants 2 ranks");
  if (ratios < 1 || turns < 1) throw bench::UsageError("--ratios and --turns are 1 or more");
  Blocks blocks(program.rank, bytes);
  Switch account;
  std::mt19937 random(1);  // the same on both ranks
  blocks.turns(5000);      // what the account begins with, when each wait is timed
  Ratios cost, control;
  std::vector<double> on, off;
  // One way, the other twice, and the first again: what drifts meets both alike.
  const auto ratio = [&](bool real) {
    const bool first = random() % 2 != 0;
    double times[2] = {0, 0};
    for (const bool with : {first, !first, !first, first}) {
      account.set(with || !real || always_on);
      times[with] += blocks.run(turns) / 2;
    }
    if (real) {
      on.push_back(times[1]);
      off.push_back(times[0]);
    }
    return times[1] / times[0];
  };
  for (long number = 0; number < ratios; number++) {
    cost.values.push_back(ratio(true));
    if (number % 2 == 0) control.values.push_back(ratio(false));
  }
  account.set(true);
  if (program.rank != 0) return;
  std::printf(
      "# ledger-cost: %ld ratios of four blocks of %ld ping-pongs of %ld bytes; a ping-pong: %.1f "
      "ns with, "
      "%.1f ns without\n",
      ratios, turns, bytes, bench::distribution_of(on).median, bench::distribution_of(off).median);
  if (!always_on)
    std::printf(
        "# waits that were not over within the first looks: %.1f %%\n",
        100 * static_cast<double>(not_charged) / static_cast<double>(2 * ratios * (turns + 20)));
  cost.print("cost");
  control.print("control");
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, usage, body);
}
