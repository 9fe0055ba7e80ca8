#include "launch/report/worker_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace meantime::launch {
namespace {

using ledger::Activity;
using ledger::Doing;
using ledger::RankFigures;
using ledger::WorkerFigures;

constexpr std::size_t most_lines = 32;

double seconds(std::uint64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

/// What the kernel has not told is not nothing.
std::string known(const WorkerFigures& worker, std::optional<std::uint64_t> ns, int digits,
                  const char* unknown) {
  return worker.cpu_ns != 0 && ns ? fmt::format("{:.{}f}", seconds(*ns), digits) : unknown;
}

/// Which ranks it ran last.
std::vector<std::size_t> ranks_of(const ledger::Figures& figures, std::size_t worker) {
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < figures.ranks.size(); ++rank) {
    if (figures.ranks[rank].worker == static_cast<int>(worker)) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

WorkerFigures of_process(const RankFigures& rank, const RankProcess& process) {
  const auto spent = [&rank](Activity activity) {
    return rank.spent_ns[static_cast<std::size_t>(activity)];
  };
  WorkerFigures worker;
  worker.ended = rank.cpu_ns != 0;
  worker.wall_ns = rank.wall_ns;
  worker.spent_ns = {rank.wall_ns - std::min(rank.wall_ns, rank.wait_ns), spent(Activity::poll),
                     spent(Activity::yield), spent(Activity::sleep)};
  worker.held_up_ns = rank.held_up_ns;
  worker.cpu_ns = rank.cpu_ns == 0 && process.cpu_seconds > 0
                      ? static_cast<std::uint64_t>(process.cpu_seconds * 1e9)
                      : rank.cpu_ns;
  worker.preempted_ns = rank.preempted_ns;
  return worker;
}

std::string list(const std::vector<std::size_t>& ranks) {
  std::string text;
  for (const std::size_t rank : ranks) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", rank);
  }
  return text;
}

std::string json_worker(const WorkerFigures& worker, const std::string& number,
                        const std::vector<std::size_t>& ranks) {
  return fmt::format(
      R"(    {{"worker": {}, "ranks": [{}], "ended": {}, "wall": {:.9f}, )"
      R"("spent": {{"run": {:.9f}, "poll": {:.9f}, "yield": {:.9f}, "sleep": {:.9f}}}, )"
      R"("held_up": {:.9f}, "cpu": {}, "preempted": {}}})",
      number, list(ranks), worker.ended, seconds(worker.wall_ns), seconds(worker.spent(Doing::run)),
      seconds(worker.spent(Doing::poll)), seconds(worker.spent(Doing::yield)),
      seconds(worker.spent(Doing::sleep)), seconds(worker.held_up_ns),
      known(worker, worker.cpu_ns, 9, "null"), known(worker, worker.preempted_ns, 9, "null"));
}

}  // namespace

std::string worker_table(const ledger::Figures& figures) {
  if (figures.workers.empty()) {
    return {};
  }
  std::string text =
      "worker    running    polling   yielding   sleeping   CPU time  preempted  ranks\n"
      "                s          s          s          s          s          s\n";
  const std::size_t lines = std::min(figures.workers.size(), most_lines);
  for (std::size_t i = 0; i < lines; ++i) {
    const WorkerFigures& worker = figures.workers[i];
    text += fmt::format("{:>6} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.3f} {:>10} {:>10} {:>6}\n",
                        worker.number, seconds(worker.spent(Doing::run)),
                        seconds(worker.spent(Doing::poll)), seconds(worker.spent(Doing::yield)),
                        seconds(worker.spent(Doing::sleep)), known(worker, worker.cpu_ns, 3, "-"),
                        known(worker, worker.preempted_ns, 3, "-"), ranks_of(figures, i).size());
  }
  if (figures.workers.size() > lines) {
    text += fmt::format("   ... and {} more: --report=FILE has them all\n",
                        figures.workers.size() - lines);
  }
  return text;
}

std::string json_workers(const Job& job, const ledger::Figures& figures) {
  std::string text;
  const auto add = [&text](const std::string& line) { text += (text.empty() ? "" : ",\n") + line; };
  for (std::size_t i = 0; i < figures.workers.size(); ++i) {
    const WorkerFigures& worker = figures.workers[i];
    add(json_worker(worker, fmt::format("{}", worker.number), ranks_of(figures, i)));
  }
  for (std::size_t rank = 0; rank < figures.ranks.size(); ++rank) {
    if (figures.ranks[rank].worker < 0 && figures.ranks[rank].in_mpi) {
      add(json_worker(of_process(figures.ranks[rank], job.ranks[rank]), "null", {rank}));
    }
  }
  return text;
}

}  // namespace meantime::launch
