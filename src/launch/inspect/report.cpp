#include "launch/inspect/report.h"

#include <fmt/format.h>

#include <sstream>
#include <vector>

#include "deadlock/report.h"
#include "launch/inspect/process_info.h"
#include "launch/report/equal_ranks.h"
#include "machine/process_stat.h"
#include "node/segment.h"
#include "protocol/call_names.h"
#include "symbolize/symbolized_text.h"

namespace meantime::launch {

namespace {

/// The kernel's state letter in words.
const char* kernel_state(pid_t pid) {
  switch (machine::process_stat(pid).state) {
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

/// What the ranks of a node that are in MPI have written about themselves: a line for each rank of
/// the job, in order.
std::vector<std::string> lines_of_segment(int descriptor) {
  std::vector<std::string> lines;
  node::Segment segment;
  if (descriptor >= 0 && segment.map(descriptor) == 0) {
    std::istringstream text(wait::describe_ranks(segment, call_name));
    for (std::string line; std::getline(text, line);) {
      lines.push_back(line);
    }
    segment.unmap();
  }
  return lines;
}

std::string own_words(const RankProcess& rank) {
  if (rank.pid < 0 && rank.mpi_pid < 0) {
    return "is not started yet";
  }
  if (rank.ended) {
    return rank.phase == MpiPhase::finalized ? "has ended after MPI_Finalize" : "has ended";
  }
  std::string text = kernel_state(rank.mpi_pid > 0 ? rank.mpi_pid : rank.pid);
  switch (rank.phase) {
    case MpiPhase::outside:
      return text + ", has not called MPI_Init";
    case MpiPhase::inside:
      return text;
    case MpiPhase::finalized:
      return text + ", has called MPI_Finalize";
  }
  return text;
}

}  // namespace

std::string report_of_ranks_here(const Job& job, const std::vector<int>& segments) {
  std::vector<std::string> lines;
  for (std::size_t node = 0; node < segments.size(); ++node) {
    std::vector<std::string> of_node = lines_of_segment(segments[node]);
    lines.resize(std::max(lines.size(), of_node.size()));
    for (std::size_t rank = 0; rank < std::min(of_node.size(), job.ranks.size()); ++rank) {
      if (job.ranks[rank].node == static_cast<int>(node)) {
        lines[rank] = std::move(of_node[rank]);
      }
    }
  }
  std::string text;
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    const RankProcess& rank = job.ranks[i];
    if (rank.elsewhere) {
      continue;
    }
    // Between its hello and its first words in the segment a line has no pid yet. And its hello may
    // still have to be read.
    bool has_spoken = i < lines.size() && lines[i].find("(pid ") != std::string::npos;
    if (rank.phase != MpiPhase::finalized && !rank.ended && has_spoken) {
      std::string state = kernel_state(rank.mpi_pid > 0 ? rank.mpi_pid : rank.pid);
      text += lines[i] + (state.starts_with("is stopped") ? ", " + state : "") + "\n";
    } else {
      text += fmt::format("  rank {} (pid {}) {}\n", i, rank.mpi_pid > 0 ? rank.mpi_pid : rank.pid,
                          own_words(rank));
    }
  }
  if (!text.empty()) {
    text.pop_back();  // who says it ends the last line
  }
  return with_equal_ranks_together(symbolized(text));
}

std::string job_report(const Job& job, const std::vector<int>& segments) {
  std::string text = report_of_ranks_here(job, segments);
  if (const std::size_t others = job.ranks.size() - static_cast<std::size_t>(job.ranks_here());
      others > 0) {
    text += fmt::format("{}  {} rank{} on other nodes", text.empty() ? "" : "\n", others,
                        others == 1 ? " is" : "s are");
  }
  return text;
}

}  // namespace meantime::launch
