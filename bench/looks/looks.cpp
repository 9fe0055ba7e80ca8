// Loops of a program's own looks, and many senders to one receiver.
//   late    odd ranks loop around MPI_Test until their message is there, which the even ones send
//           after some computation: a round trip with it
//   steps   odd ranks compute a little between looks (MPI_Iprobe) that are always in vain: a step
//   naps    as late, with a usleep(20) after each look
//   flood   all but the first and the last send to the first as fast as they can; it receives from
//           any source and answers the last one: how long that one waits
#include <unistd.h>

#include <cstring>

#include "../common/mpi_program.h"

namespace {

const char usage[] =
    "looks: loops of looks, and any-source receives\n"
    "  --loops LIST      late, steps, naps, flood (default: all)\n"
    "  --late-us T       computation before a message of late and naps (default 300)\n"
    "  --step-us T       between two looks of steps (default 0.5)\n"
    "  --seconds S       each (default 0.3)\n"
    "  --json\n";

enum Tag { message_tag = 1, reply_tag, never_tag, end_tag, result_tag };

struct Setting {
  double late_us, step_us, seconds;
};

// By CPU time, which others can take; a short one by the quicker clock.
void compute_for(double us, std::uint64_t (*clock)()) {
  const std::uint64_t until = clock() + static_cast<std::uint64_t>(us * 1e3);
  while (clock() < until) {
  }
}

void look_until_there(MPI_Request& request, bool sleeps) {
  for (int there = 0; !there;) {
    MPI_Test(&request, &there, MPI_STATUS_IGNORE);
    if (sleeps && !there) usleep(20);
  }
}

// A turn of a pair; its partner is the next or the one before.
void late_turn(const bench::Program& program, const Setting& setting, bool sleeps) {
  const int other = program.rank ^ 1;
  if (other >= program.ranks) return;
  int value = 0;
  if (program.rank % 2 == 0) {
    compute_for(setting.late_us, bench::thread_cpu_ns);
    MPI_Send(&value, 1, MPI_INT, other, message_tag, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, other, reply_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, other, message_tag, MPI_COMM_WORLD, &request);
    look_until_there(request, sleeps);
    MPI_Send(&value, 1, MPI_INT, other, reply_tag, MPI_COMM_WORLD);
  }
}

// 1000 steps, for which the even ranks wait.
void steps_turn(const bench::Program& program, const Setting& setting) {
  const int other = program.rank ^ 1;
  if (other >= program.ranks) return;
  int value = 0;
  if (program.rank % 2 == 0) {
    MPI_Recv(&value, 1, MPI_INT, other, reply_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return;
  }
  for (int step = 0; step < 1000; step++) {
    compute_for(setting.step_us, bench::now_ns);
    int there = 0;
    MPI_Iprobe(other, never_tag, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
  }
  MPI_Send(&value, 1, MPI_INT, other, reply_tag, MPI_COMM_WORLD);
}

void measure_turns(bench::Program& program, const std::string& name, const Setting& setting,
                   double unit_us, const std::function<void()>& turn) {
  program.report.start(name, {});
  const long turns = bench::turns_in(MPI_COMM_WORLD, setting.seconds, 10, 100000, [&](long n) {
    for (long i = 0; i < n; i++) turn();
  });
  std::vector<std::uint64_t> stamps;
  MPI_Barrier(MPI_COMM_WORLD);
  stamps.push_back(bench::now_ns());
  for (long i = 0; i < turns; i++) {
    turn();
    stamps.push_back(bench::now_ns());
  }
  program.report.row(name, {}, "us",
                     bench::distribution_of(bench::differences(stamps)).scaled(unit_us));
}

void flood_as_sender(double seconds) {
  char data[1024] = {};
  const std::uint64_t until = bench::now_ns() + static_cast<std::uint64_t>(seconds * 1e9);
  while (bench::now_ns() < until)
    MPI_Send(data, sizeof data, MPI_CHAR, 0, message_tag, MPI_COMM_WORLD);
  MPI_Send(data, 0, MPI_CHAR, 0, end_tag, MPI_COMM_WORLD);
}

// Returns what the last one has found.
bench::Distribution flood_as_receiver(int senders) {
  char data[1024];
  bench::Distribution found;
  while (senders > 0) {
    MPI_Status status;
    MPI_Recv(data, sizeof data, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (status.MPI_TAG == end_tag || status.MPI_TAG == result_tag) senders--;
    if (status.MPI_TAG == result_tag) std::memcpy(&found, data, sizeof found);
    if (status.MPI_TAG == reply_tag)
      MPI_Send(data, 0, MPI_CHAR, status.MPI_SOURCE, reply_tag, MPI_COMM_WORLD);
  }
  return found;
}

std::vector<double> flood_as_asker(double seconds) {
  char data[8] = {};
  std::vector<std::uint64_t> stamps{bench::now_ns()};
  const std::uint64_t until = stamps[0] + static_cast<std::uint64_t>(seconds * 1e9);
  while (stamps.back() < until) {
    MPI_Send(data, sizeof data, MPI_CHAR, 0, reply_tag, MPI_COMM_WORLD);
    MPI_Recv(data, 0, MPI_CHAR, 0, reply_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    stamps.push_back(bench::now_ns());
  }
  return bench::differences(stamps);
}

void flood(bench::Program& program, const Setting& setting) {
  if (program.ranks < 3) throw bench::UsageError("flood wants 3 ranks or more");
  program.report.start("flood", {});
  MPI_Barrier(MPI_COMM_WORLD);
  const int last = program.ranks - 1;
  bench::Distribution found;
  if (program.rank == 0) {
    found = flood_as_receiver(last);
  } else if (program.rank < last) {
    flood_as_sender(setting.seconds);
  } else {
    found = bench::distribution_of(flood_as_asker(setting.seconds)).scaled(1e-3);
    MPI_Send(&found, sizeof found, MPI_CHAR, 0, result_tag, MPI_COMM_WORLD);
  }
  program.report.row("flood", {}, "us", found);
}

void body(bench::Program& program) {
  const auto loops = program.options.texts("loops", "late,steps,naps,flood");
  Setting setting{};
  setting.late_us = program.options.numbers("late-us", "300").front();
  setting.step_us = program.options.numbers("step-us", "0.5").front();
  setting.seconds = program.options.seconds("seconds", 0.3);
  program.begin("looks", {{"seconds", setting.seconds}});
  for (const std::string& loop : loops) {
    if (loop == "late" || loop == "naps") {
      measure_turns(program, loop, setting, 1e-3,
                    [&] { late_turn(program, setting, loop == "naps"); });
    } else if (loop == "steps") {
      measure_turns(program, loop, setting, 1e-6, [&] { steps_turn(program, setting); });
    } else if (loop == "flood") {
      flood(program, setting);
    } else {
      throw bench::UsageError("--loops are late, steps, naps and flood");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, usage, body);
}
