#include "launch/report.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "launch/messages.h"

namespace meantime::launch {

namespace {

// The state letter of /proc/PID/stat in words.
const char* kernel_state(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  std::size_t end = text.rfind(')');
  switch (end == std::string::npos || end + 2 >= text.size() ? '?' : text[end + 2]) {
    case 'R':
      return "computes";
    case 'S':
      return "sleeps";
    case 'D':
      return "waits for the disk";
    case 'T':
      return "is stopped";
    case 't':
      return "is stopped by a debugger";
    case 'Z':
    case 'X':
      return "has just ended";
    default:
      return "runs";
  }
}

std::string rank_line(const RankProcess& rank) {
  if (rank.pid < 0) {
    return "not started yet";
  }
  if (rank.ended) {
    return rank.phase == MpiPhase::finalized ? "ended after MPI_Finalize" : "ended";
  }
  switch (rank.phase) {
    case MpiPhase::outside:
      return fmt::format("{}, has not called MPI_Init", kernel_state(rank.pid));
    case MpiPhase::inside:
      return fmt::format("{}", kernel_state(rank.mpi_pid));
    case MpiPhase::finalized:
      return fmt::format("{}, after MPI_Finalize", kernel_state(rank.mpi_pid));
  }
  return {};
}

}  // namespace

std::string job_report(const Job& job, int /*segment*/) {
  std::string text;
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    const RankProcess& rank = job.ranks[i];
    text += fmt::format("  rank {} (pid {}): {}\n", i, rank.mpi_pid > 0 ? rank.mpi_pid : rank.pid,
                        rank_line(rank));
  }
  return text;
}

}  // namespace meantime::launch
