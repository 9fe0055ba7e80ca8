#include "launch/supervise/ending.h"

#include <unistd.h>

#include <csignal>

#include "launch/messages.h"
#include "launch/supervise/cpu_time.h"
#include "launch/supervise/ended_process.h"
#include "machine/descendants.h"

namespace meantime::launch {

namespace {

/// From SIGTERM to SIGKILL: what a rank may use to save something, and short enough that the whole
/// end stays below a second.
constexpr double grace_seconds = 0.25;
/// How long processes that SIGKILL does not end (stuck in the kernel) are waited for.
constexpr double patience_seconds = 5;

}  // namespace

void Ending::begin(int status, std::string_view line) {
  if (begun_) {
    return;
  }
  begun_ = true;
  status_ = status;
  if (!job_.starts_members) {
    ask();
  }
  if (!line.empty()) {
    mention(line);
  }
}

void Ending::ask() {
  // The ranks first: as long as they run, on busy cores, the search for the others takes its time.
  signal_ranks({SIGTERM, SIGCONT});  // a stopped process would not see the first without the second
  machine::signal_descendants({SIGTERM, SIGCONT});
  grace_.set(grace_seconds);
}

void Ending::begin_with_kill(int status) {
  begun_ = true;
  status_ = status;
  kill_all();
}

void Ending::kill_all() {
  grace_.set(0);
  signal_ranks({SIGKILL});
  const int left = machine::kill_descendants(
      patience_seconds, [this](pid_t pid, const rusage& used) { note_cpu_time(job_, pid, used); });
  undo_changes();
  for (RankProcess& rank : job_.ranks) {
    rank.ended = true;
  }
  for (ThreadHost& host : job_.hosts) {
    host.ended = true;
  }
  if (left > 0) {
    mention("{} processes could not be killed", left);
    _exit(status_);
  }
}

void Ending::undo_changes() {
  if (const std::string problem = job_.frequencies.undo(); !problem.empty()) {
    mention(problem);
  }
}

void Ending::signal_ranks(std::initializer_list<int> signals) {
  for (const RankProcess& rank : job_.ranks) {
    for (int signal : signals) {
      if (job_.of_tasks) {
        // A script that went on as if nothing had been would make it a success.
        signal_process(rank.script, signal);
        signal_process(rank.mpi_process, signal);
      } else if (rank.pid > 0 && !rank.ended) {
        kill(rank.pid, signal);
      }
    }
  }
  for (const ThreadHost& host : job_.hosts) {
    for (int signal : signals) {
      if (host.running()) {
        kill(host.pid, signal);
      }
    }
  }
}

}  // namespace meantime::launch
