#include "core/start/startup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>
#include <pthread.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "base/version.h"
#include "core/error/abort.h"
#include "core/error/crash.h"
#include "core/error/error.h"
#include "core/object/tables.h"
#include "core/request/helper.h"
#include "core/request/requests.h"
#include "core/start/energy.h"
#include "core/start/guest_function.h"
#include "core/start/hang_report.h"
#include "core/start/joining.h"
#include "core/start/output.h"
#include "core/start/python.h"
#include "core/start/settings.h"
#include "deadlock/deadlock.h"
#include "ledger/accounts.h"
#include "match/engine.h"
#include "net/network.h"
#include "node/control_client.h"
#include "node/cross_memory.h"
#include "node/process.h"
#include "node/segment.h"
#include "policy/policy.h"
#include "protocol/control.h"
#include "rank/rank.h"
#include "rank/rank_of_thread.h"
#include "scheduling/asymmetric_fence.h"
#include "scheduling/worker.h"
#include "settings/as_started.h"
#include "settings/shown.h"
#include "wait/experience.h"
#include "wait/wait.h"

namespace meantime::core {
namespace {

int lost_after_s = 10;

/// A rank that dies takes its connections with it. Whoever finds that first leaves it to the
/// supervisors, or the launcher, to say who has died, or that nobody has, and waits to be ended. It
/// ends the job itself if they cannot.
void tell_of_lost_rank(int world_rank, const char* problem) {
  if (const Rank& rank = rank_of_thread(); rank.control != nullptr) {
    rank.control->unreachable(world_rank, problem);
  }
  for (int moment = 0; moment < 100 * lost_after_s; ++moment) {
    constexpr timespec pause{0, 10'000'000};
    nanosleep(&pause, nullptr);
  }
  abort_job(1, fmt::format("the connection to rank {}, on another node, is lost: {}", world_rank,
                           problem));
}

/// What a process does for all of its ranks.
void start_host(const Settings& settings, bool crowded) {
  node::Header& header = node::segment().header();
  header.on_deadlock.store(settings.on_deadlock);
  if (!settings.cross_memory) {
    header.cross_memory_off.store(1);
  }
  if (settings.attaches) {
    header.attaching.store(static_cast<std::uint32_t>(node::Attaching::quicker));
  }
  argument_checks.store(settings.argument_checks);
  missing_calls_end.store(settings.missing_calls_end);
  says_where.store(settings.backtrace);
  wait::deadlock_hook = tell_of_deadlock;
  wait::stillness_hook = tell_of_stillness;
  wait::lack_hook = tell_of_lack;
  match::Remote::give_up = tell_of_lost_rank;
  lost_after_s = settings.lost_after_s;
  wait::still_ns = settings.still_ns;
  counts_calls() = number_from_environment(launch::count_calls_variable) == 1;
  wait::beside_guests() = number_from_environment(launch::guests_variable) == 1;
  if (const int measured = number_from_environment(launch::wake_up_variable); measured > 0) {
    wait::measured_wake_up_ns() = static_cast<std::uint64_t>(measured);
  }
  if (const unsigned long lateness = guest_lateness_ns(); lateness != 0) {
    wait::measured_wake_up_ns() = lateness;
  }
  std::string problem;
  wait::policy_settings() = wait::policy_settings_from(setting, &problem);
  if (!problem.empty()) {
    abort_job(1, problem);
  }
  wait::policy() = wait::make_policy(wait::policy_settings(), crowded);
}

/// Before the supervisors', who then say which two do not reach each other, or who is gone.
void bound_silence() {
  if (net::network() != nullptr) {
    net::network()->bound_silence(lost_after_s);
    net::Network::cannot_connect = tell_of_lost_rank;
  }
}

/// How many want each CPU of the job: process ranks, and workers, of which each waits as a rank
/// with a CPU of its own would.
std::uint32_t sharers() {
  const node::Header& header = node::segment().header();
  return (header.runners + header.workers - 1) / header.workers;
}

}  // namespace

int start_up(Rank& rank) {
  const bool in_job = rank.fiber != nullptr || join_job(rank);
  if (!in_job) {
    refuse_to_be_alone();
    read_setting_files();
    std::vector<std::string> remarks;
    if (const std::string wrong = settings_without_mpiexec(remarks); !wrong.empty()) {
      abort_job(1, wrong);
    }
    for (const std::string& remark : remarks) {
      std::fputs(fmt::format("Meantime: {}\n", settings::shown_lines(remark)).c_str(), stderr);
    }
    if (const int result = make_singleton(rank); result != MPI_SUCCESS) {
      return result;
    }
  }
  node::Segment& segment = node::segment();
  rank.area = &segment.area(rank.world_rank);
  node::Report& report = rank.area->report;
  std::uint32_t absent = static_cast<std::uint32_t>(node::RankState::absent);
  if (!report.state.compare_exchange_strong(absent,
                                            static_cast<std::uint32_t>(node::RankState::running))) {
    abort_job(
        1, "a second MPI program in the place of one rank; start each with an mpiexec of its own");
  }
  node::publish_process(*rank.area);
  node::publish_trial_address(rank.world_rank);
  if (in_job) {
    if (rank.fiber == nullptr) {
      take_locks_of_mpiexec();
    }
    rank.control = std::make_shared<node::ControlClient>(
        rank.fiber != nullptr ? ranks::control()
                              : number_from_environment(launch::control_variable),
        rank.world_rank);
    // How thread ranks wait their host was told.
    rank.control->hello(version,
                        rank.fiber != nullptr ? std::string() : settings::way_to_wait(setting),
                        settings::energy_policy(setting));
    if (rank.fiber == nullptr && node::hold_lifeline(number_from_environment(
                                     launch::lifeline_variable)) == node::Lifeline::cut) {
      abort_job(1, "mpiexec ended before this program called MPI_Init");
    }
    if (rank.fiber == nullptr) {
      join_network(rank, 1);
    }
  }
  rank.engine = std::make_shared<match::Engine>(rank, typed);
  if (rank.fiber != nullptr && net::network() != nullptr) {
    rank.lock.enable_for_helper();
  }
  Settings settings;
  if (const std::string wrong = read_settings(settings, rank.engine->limits); !wrong.empty()) {
    abort_job(1, wrong);
  }
  if (in_job) {
    tell_what_locks_overrule(rank);
  }
  if (rank.fiber == nullptr) {
    if (const std::string wrong = start_guest_function(rank); !wrong.empty()) {
      abort_job(1, wrong);
    }
    start_host(settings, sharers() > 1);
    bound_silence();
    if (settings.backtrace && rank.control != nullptr) {
      catch_crashes(rank.control);
    }
    look_for_python();
    if (in_job) {
      print_whole_lines();
    }
  }
  if (rank.fiber == nullptr) {
    hear_network_for(rank, settings.helps);
  }
  rank.policy = wait::policy();
  rank.yielding[static_cast<int>(wait::Kind::messages)] = wait::Yielding::for_messages(sharers());
  rank.policy_settings = wait::policy_settings();
  if (const std::string wrong = start_energy(rank); !wrong.empty()) {
    abort_job(1, wrong);
  }
  rank.experience = std::make_shared<wait::Experience>();
  ledger::begin_account(*rank.area, rank.fiber == nullptr);
  rank.main_thread = static_cast<std::uint64_t>(pthread_self());
  if (rank.thread_level == MPI_THREAD_MULTIPLE) {
    rank.lock.enable();
  }
  if (rank.fiber == nullptr) {  // a thread rank has some since its stack was made
    rank.sleepers.prepare(rank.world_rank, node::waiters_a_page);
  }
  rank.engine->prepare();
  const int result = make_world(rank);
  if (result == MPI_SUCCESS) {
    rank.phase.store(Phase::active);
  }
  return result;
}

int start_thread_ranks(ranks::Plan plan, int segment) {
  ranks::AsymmetricFence::prepare();  // before the network has a thread
  if (const int error = node::segment().map(segment); error != 0) {
    return error;
  }
  fcntl(segment, F_SETFD, FD_CLOEXEC);
  Rank& host = self();
  host.world_rank = plan.first_rank;
  host.world_size = plan.world_size;
  take_locks_of_mpiexec();
  host.control = std::make_shared<node::ControlClient>(plan.control, plan.first_rank);
  if (node::hold_lifeline(number_from_environment(launch::lifeline_variable)) ==
      node::Lifeline::cut) {
    return EPIPE;
  }
  match::Limits limits;
  Settings settings;
  if (const std::string wrong = read_settings(settings, limits); !wrong.empty()) {
    abort_job(1, wrong);
  }
  if (const std::string wrong = start_guest_function(host); !wrong.empty()) {
    abort_job(1, wrong);
  }
  start_host(settings, sharers() > 1);
  join_network(host, plan.ranks);
  bound_silence();
  hear_network_for_host(plan.first_rank, plan.ranks, settings.helps);
  start_energy_of_workers(host.control);
  plan.held_up = tell_of_held_up;
  plan.always_move = settings.always_move;
  const int result = ranks::run(plan);
  finish_guest_function();
  return result;
}

}  // namespace meantime::core
