// The supervisor's report at the end of the job.
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "launch/messages.h"
#include "launch/report/guest_report.h"
#include "launch/report/node_report.h"
#include "launch/report/report_files.h"
#include "launch/supervise/cpu_time.h"
#include "launch/supervise/supervisor_parts.h"
#include "machine/busy_time.h"
#include "settings/shown.h"

namespace meantime::launch {
namespace {

/// Other nodes name call sites first, which takes seconds of a large program; and one may be gone.
constexpr double patience_seconds = 20;
/// Of a job that was broken off, whose launcher ends all of it.
constexpr double last_seconds = 2;

}  // namespace

std::optional<double> busy_seconds() {
  cpu_set_t cpus;
  return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? machine::busy_seconds(cpus) : std::nullopt;
}

void Supervisor::let_leave(const RankProcess& process) {
  const char packet = 0;
  // One that is gone needs none.
  [[maybe_unused]] const auto sent =
      send(process.control, &packet, sizeof packet, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Tasks stay in MPI_Finalize until all of this node are there and the report is out: when the last
// one has ended a launcher may end everything of the job, this process as well. Not if one goes on
// with sessions, for which others may have to come back.
void Supervisor::report_if_all_stay() {
  if (!job_.of_tasks || !job_.command.reports() || may_leave_ || ending_.begun()) {
    return;
  }
  bool all_stay = running_ > 0;
  bool one_stays = false;
  bool one_goes_on = false;
  for (const RankProcess& rank : job_.ranks) {
    const bool stays = !rank.ended && rank.phase == MpiPhase::finalized;
    all_stay = all_stay && (stays || rank.ended);
    one_stays = one_stays || stays;
    one_goes_on = one_goes_on || (rank.phase == MpiPhase::inside && rank.sessions_only);
  }
  if (all_stay) {
    report_ledger(true);
  }
  if (all_stay || (one_stays && one_goes_on)) {
    may_leave_ = true;
    std::for_each(job_.ranks.begin(), job_.ranks.end(), let_leave);
  }
}

JobTimes Supervisor::times_so_far(const ledger::Figures& figures) {
  JobTimes times;
  times.wall_seconds = (ended_ != 0 ? ended_ : now_seconds()) - began_;
  times.allocated_seconds = std::min(job_.cpus.workers, job_.ranks_here()) * times.wall_seconds;
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const double by_ranks =
      job_.of_tasks ? cpu_time_of_ranks(job_, figures) : machine::cpu_seconds(used);
  times.cpu_seconds = by_ranks - guests_.cpu_seconds();
  if (!job_.guest_function.empty()) {
    times.cpu_seconds = std::max(0.0, times.cpu_seconds - guest_function_seconds(figures));
  }
  if (const std::optional<double> busy = busy_seconds(); busy && busy_at_start_) {
    // Of each CPU a tick at either end may be somebody's who had a part of it only.
    const double uncertain = 2.0 * job_.cpus.mask / static_cast<double>(sysconf(_SC_CLK_TCK));
    times.others_seconds = std::max(0.0, *busy - *busy_at_start_ - by_ranks - uncertain);
  }
  times.ended_early = ending_.begun();
  if (energy_) {
    times.joules = energy_->readable() ? energy_->joules() : -1;
    times.energy_source = energy_->source();
  }
  times.guests = job_.guests ? &guests_.account() : nullptr;
  times.guest_bound = job_.guest_bound ? &trials_.bound() : nullptr;
  return times;
}

/// What comes of other nodes is added. True: the first node tells of this one, too.
bool Supervisor::get_together(JobFigures& figures, JobTimes& times, double patience) {
  if (!others_.is_hub()) {
    return bring_report(packed_report(job_, figures, times), patience);
  }
  for (RankProcess& rank : job_.ranks) {
    if (!rank.elsewhere) {
      rank.host_name = job_.node_name;
    }
  }
  take_reports(figures, times, patience);
  return false;
}

void Supervisor::report_ledger(bool all_stay) {
  const bool has_function = !job_.guest_function.empty();
  const bool tells_of_guests = (job_.guests || has_function) && !job_.command.quiet;
  if (std::exchange(reported_, true) || (!job_.command.reports() && !tells_of_guests)) {
    return;
  }
  JobFigures figures;
  figures.ledger = figures_in(job_, starter_.segments());
  JobTimes times = times_so_far(figures.ledger);
  if (tells_of_guests) {
    const std::string guests =
        has_function ? guest_function_table(job_, figures.ledger) : guest_table(job_, times);
    write_while_read(STDERR_FILENO, as_shown(guests + guest_cost(times)));
  }
  if (!job_.command.reports()) {
    return;
  }
  figures.names = names_of(figures.ledger);
  if (others_.is_hub() || others_.is_member()) {
    if (get_together(figures, times, all_stay ? patience_seconds : last_seconds)) {
      return;
    }
  }
  if (job_.of_tasks && job_.has_other_nodes()) {
    if (job_.ranks.front().elsewhere) {
      const std::string problem = open_report_files_of_node(job_);
      if (!problem.empty()) {
        mention(problem);
      }
    }
  }
  const std::string json = job_.report_files.empty() ? "" : ledger_json(job_, figures, times);
  for (std::size_t file = 0; file < job_.report_files.size(); ++file) {
    if (!write_file(job_.report_files[file], job_.command.report_files[file], json)) {
      mention("--report: cannot write '{}': {}",
              settings::shown_path(job_.command.report_files[file]), std::strerror(errno));
      ending_.note(1);
    }
  }
  if (job_.command.report) {
    mention(ledger_table(job_, figures, times));
  }
}

}  // namespace meantime::launch
