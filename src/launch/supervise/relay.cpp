#include "launch/supervise/relay.h"

#include "base/clock.h"
#include "launch/inspect/process_info.h"

namespace meantime::launch {

Relay::Relay(const Job& job) : job_(job) {
  sigemptyset(&passed_on_);
}

bool Relay::pass_on(int signal, int ranks_with_it) {
  sigaddset(&passed_on_, signal);
  if (signal == SIGINT || signal == SIGTERM) {
    if (interrupted_ > 0 && now_seconds() - interrupted_ > same_signal_seconds) {
      return false;
    }
    interrupted_ = now_seconds();
  }
  for (std::size_t rank = static_cast<std::size_t>(ranks_with_it); rank < job_.ranks.size();
       ++rank) {
    if (job_.ranks[rank].pid >= 0 && !job_.ranks[rank].ended) {
      pass_on_to(job_.ranks[rank], signal);
    }
  }
  for (const ThreadHost& host : job_.hosts) {
    if (host.first_rank >= ranks_with_it && host.running()) {
      RankProcess process;
      process.pid = host.pid;
      pass_on_to(process, signal);
    }
  }
  return true;
}

bool Relay::passed_on(int signal) const {
  return sigismember(&passed_on_, signal) == 1;
}

void Relay::pass_on_to(const RankProcess& rank, int signal) {
  // The program, if it is known and was started by a script: the script would die of it.
  const bool through_script = rank.mpi_pid > 0 && rank.mpi_pid != rank.pid;
  pid_t target = through_script ? rank.mpi_pid : rank.pid;
  int sent = signal;
  if (signal == SIGTSTP && !catches(target, SIGTSTP)) {
    sent = SIGSTOP;  // the default action, which an orphaned process group would not get
  }
  if (kill(target, sent) != 0 && through_script) {
    target = rank.pid;  // the program has ended, and the script goes on
    kill(target, signal);
  }
  if (ends_a_process(signal)) {
    kill(target, SIGCONT);  // a stopped process would not see the other
  }
}

}  // namespace meantime::launch
