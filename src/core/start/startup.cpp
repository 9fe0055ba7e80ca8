#include "core/start/startup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <vector>

#include "base/version.h"
#include "core/comm/communicator.h"
#include "core/error/abort.h"
#include "core/error/crash.h"
#include "core/error/error.h"
#include "core/object/tables.h"
#include "core/request/requests.h"
#include "core/start/energy.h"
#include "core/start/python.h"
#include "core/start/settings.h"
#include "ledger/accounts.h"
#include "match/engine.h"
#include "node/control_client.h"
#include "node/cross_memory.h"
#include "node/process.h"
#include "node/segment.h"
#include "places/named_places.h"
#include "protocol/call_names.h"
#include "protocol/control.h"
#include "rank/rank.h"
#include "rank/sleeping_call.h"
#include "scheduling/worker.h"
#include "settings/as_started.h"
#include "settings/shown.h"
#include "settings/terminal.h"
#include "wait/deadlock/deadlock.h"
#include "wait/deadlock/place_hook.h"
#include "wait/deadlock/report.h"
#include "wait/learning/experience.h"
#include "wait/policy.h"
#include "wait/wait.h"

namespace meantime::core {
namespace {

/// A number from the environment, or -1.
int number(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') {
    return -1;
  }
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end == '\0' && value >= 0 && value <= 1 << 30 ? static_cast<int>(value) : -1;
}

int own_cpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  return sched_getaffinity(0, sizeof mask, &mask) == 0 ? std::max(1, CPU_COUNT(&mask)) : 1;
}

[[noreturn]] void give_up(std::string_view text) {
  abort_job(1, text);
}

/// Several processes of a launcher that we do not know, or ranks of ours that have lost their job,
/// would each be a world of one.
void refuse_to_be_alone() {
  if (const char* wanted = std::getenv("MEANTIME_SINGLETON");
      wanted != nullptr && std::string_view(wanted) == "1") {
    return;
  }
  if (number(launch::rank_pid_variable) == getpid()) {
    give_up(fmt::format(
        "rank {} has closed file descriptor {} before MPI_Init, or made it another file, and so "
        "lost its job: call MPI_Init first, or close only what the program has opened itself (with "
        "MEANTIME_SINGLETON=1 each such process runs as a world of its own)",
        number(launch::rank_variable), number(launch::segment_variable)));
  }
  struct Sign {
    const char* variable;
    const char* size;
    const char* launcher;
  };
  // The most specific first: Open MPI's mpirun sets PMIx variables too.
  constexpr Sign signs[] = {
      {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"},
      {"PMI_RANK", "PMI_SIZE", "Hydra (MPICH's mpiexec) or another PMI launcher"},
      {"PMIX_RANK", "", "a PMIx launcher"},
      {"SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "Slurm's srun"},
  };
  for (const Sign& sign : signs) {
    if (std::getenv(sign.variable) != nullptr && (*sign.size == '\0' || number(sign.size) != 1)) {
      give_up(
          fmt::format("this program was started by {}, which Meantime does not support yet; "
                      "start it with Meantime's mpiexec, or set MEANTIME_SINGLETON=1 to run "
                      "each process as a world of its own",
                      sign.launcher));
    }
  }
}

/// True if mpiexec started this process as a rank. A rank's own children inherit the variables but
/// not the descriptors, whose numbers may be any files by now: they are singletons. A rank that has
/// lost its own is none (refuse_to_be_alone).
bool join_job(Rank& rank) {
  const int descriptor = number(launch::segment_variable);
  rank.world_rank = number(launch::rank_variable);
  rank.world_size = number(launch::size_variable);
  const bool told = rank.world_rank >= 0 && rank.world_size > rank.world_rank;
  // The others' memory and messages are not for a program that has more rights than its user.
  if (told && descriptor >= 0 && getauxval(AT_SECURE) != 0) {
    give_up(
        "a program with more rights than its user (set-user-ID, set-group-ID, file capabilities) "
        "cannot be a rank of that user's job");
  }
  const int error = told ? node::segment().map(descriptor) : EBADF;
  if (error == EBADF) {
    rank.world_rank = 0;
    rank.world_size = 1;
    return false;
  }
  if (error != 0) {
    if (error == EPROTO) {
      give_up("mpiexec is of another version than this program's libmpi_abi.so.1");
    }
    give_up(fmt::format("the job's shared memory cannot be mapped: {}{}", std::strerror(error),
                        error == ENOMEM ? " (is the address space limited by ulimit -v?)" : ""));
  }
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  rank.workers = std::max(1, static_cast<int>(node::segment().header().workers));
  return true;
}

int make_singleton(Rank& rank) {
  rank.workers = own_cpus();
  const int descriptor = node::create_segment(1, rank.workers);
  if (descriptor < 0) {
    const std::string limit = node::what_limits(static_cast<std::uint32_t>(-descriptor));
    return fail(MPI_ERR_NO_MEM, "no shared memory: {}{}{}", std::strerror(-descriptor),
                limit.empty() ? "" : ": ", limit);
  }
  if (const int error = node::segment().map(descriptor); error != 0) {
    close(descriptor);
    return fail(MPI_ERR_NO_MEM, "shared memory cannot be mapped: {}", std::strerror(error));
  }
  return MPI_SUCCESS;  // the segment keeps the descriptor: it grows through it
}

bool all_wait_in_sends(node::Segment& segment) {
  bool any = false;
  for (int rank = 0; rank < static_cast<int>(segment.header().ranks); ++rank) {
    const node::Report& report = segment.area(rank).report;
    const auto state = static_cast<node::RankState>(report.state.load(std::memory_order_acquire));
    if (state == node::RankState::finalized) {
      continue;
    }
    const std::string_view call = call_name(static_cast<std::uint16_t>(report.call.load()));
    if (state != node::RankState::waiting ||
        (call != "MPI_Send" && call != "MPI_Ssend" && call != "MPI_Rsend")) {
      return false;
    }
    any = true;
  }
  return any;
}

/// For who had room for them elsewhere: short messages that wait to be received are limited here.
std::string hint_at_room(node::Segment& segment) {
  if (segment.header().wanting.load() != 0) {
    return fmt::format("  ({})\n", wait::describe_lack(segment));
  }
  for (int rank = 0; rank < static_cast<int>(segment.header().ranks); ++rank) {
    if (segment.area(rank).out_of_credit.load(std::memory_order_relaxed) != 0) {
      return fmt::format(
          "  (short messages of rank {} that nobody has received fill the room that there is for "
          "them;"
          " for more of it: mpiexec -x MEANTIME_EAGER_MOST=8G)\n",
          rank);
    }
  }
  return all_wait_in_sends(segment)
             ? "  (all wait in sends of messages that have no room, which wait for their receives: "
               "let ranks receive first, or call MPI_Sendrecv or MPI_Irecv)\n"
             : "";
}

/// By way of mpiexec, which ends the job if it is to; without it here.
void tell_of_waiting(const std::string& what, bool for_ever) {
  node::Segment& segment = node::segment();
  Rank& rank = self();
  const std::string text = fmt::format(
      "Meantime: {}:\n{}{}", what, wait::describe_ranks(segment, call_name), hint_at_room(segment));
  if (rank.control != nullptr && rank.control->connected()) {
    rank.control->deadlock(text, for_ever);
    return;
  }
  // A search along PATH is not for a program that has more rights than its user.
  const bool may_run_addr2line = getauxval(AT_SECURE) == 0;
  std::fputs(settings::laid_out(may_run_addr2line ? launch::with_named_places(text) : text,
                                settings::page_of(STDERR_FILENO))
                 .c_str(),
             stderr);
  if (for_ever && segment.header().on_deadlock == 0) {
    std::_Exit(launch::deadlock_status);
  }
}

void tell_of_deadlock() {
  if (node::segment().header().ending.exchange(1, std::memory_order_acq_rel) != 1) {
    if (wait::place_hook != nullptr) {
      usleep(2 * wait::place_after_ns / 1000);  // until each has said where it is
    }
    tell_of_waiting(node::segment().header().wanting.load() != 0
                        ? "memory is full: every rank waits in MPI, and some need shared memory"
                        : "deadlock: every rank waits in MPI, and nothing can wake one of them",
                    true);
  }
}

void tell_of_stillness() {
  std::atomic<std::uint32_t>& told = node::segment().header().ending;
  std::uint32_t nothing = 0;
  if (told.load(std::memory_order_relaxed) != nothing) {
    return;
  }
  const std::vector<int> ranks = wait::ranks_that_may_be_woken();
  if (ranks.empty()) {
    return;  // one of their threads has moved just now
  }
  if (!told.compare_exchange_strong(nothing, 2, std::memory_order_acq_rel)) {
    return;
  }
  const std::size_t others = ranks.size() - 1;
  const bool neighbours = ranks.back() - ranks.front() == static_cast<int>(others);
  const std::string who = others == 0 ? fmt::format("rank {} has", ranks.front())
                          : neighbours
                              ? fmt::format("ranks {}-{} have", ranks.front(), ranks.back())
                              : fmt::format("rank {} and {} more rank{} have", ranks.front(),
                                            others, others == 1 ? "" : "s");
  tell_of_waiting(
      fmt::format("perhaps a deadlock: for {} s every rank has waited in MPI and nobody "
                  "has moved, but {} other threads (or generalized requests) that may "
                  "wake one",
                  wait::still_ns / 1'000'000'000, who),
      false);
}

/// A thread rank sleeps in the kernel where we do not see it.
void tell_of_held_up(int world_rank, int thread) {
  const std::string call = ranks::sleeping_call(thread);
  std::fputs(
      fmt::format("Meantime: rank {} sleeps in the kernel and holds up the other thread ranks "
                  "of its core{}{}; they go on beside it (said once)\n",
                  world_rank, call.empty() ? "" : ", in ", call)
          .c_str(),
      stderr);
}

/// What a process does for all of its ranks.
void start_host(const Settings& settings, bool crowded) {
  node::Header& header = node::segment().header();
  header.on_deadlock.store(settings.on_deadlock);
  if (!settings.cross_memory) {
    header.cross_memory_off.store(1);
  }
  argument_checks.store(settings.argument_checks);
  missing_calls_end.store(settings.missing_calls_end);
  says_where.store(settings.backtrace);
  wait::deadlock_hook = tell_of_deadlock;
  wait::stillness_hook = tell_of_stillness;
  wait::still_ns = settings.still_ns;
  if (const int measured = number(launch::wake_up_variable); measured > 0) {
    wait::measured_wake_up_ns() = static_cast<std::uint64_t>(measured);
  }
  std::string problem;
  wait::wish() = wait::wish_from_settings(setting, &problem);
  if (!problem.empty()) {
    give_up(problem);
  }
  wait::policy() = wait::make_policy(wait::wish(), crowded);
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
      give_up(wrong);
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
    give_up("a second MPI program in the place of one rank; start each with an mpiexec of its own");
  }
  node::publish_process(*rank.area);
  node::publish_trial_address(rank.world_rank);
  if (in_job) {
    if (rank.fiber == nullptr) {
      take_locks_of_mpiexec();
    }
    rank.control = std::make_shared<node::ControlClient>(
        rank.fiber != nullptr ? ranks::control() : number(launch::control_variable),
        rank.world_rank);
    // How thread ranks wait their host was told.
    rank.control->hello(version,
                        rank.fiber != nullptr ? std::string() : settings::way_to_wait(setting),
                        settings::energy_policy(setting));
    if (rank.fiber == nullptr &&
        node::hold_lifeline(number(launch::lifeline_variable)) == node::Lifeline::cut) {
      give_up("mpiexec ended before this program called MPI_Init");
    }
  }
  rank.engine = std::make_shared<match::Engine>(rank, typed);
  Settings settings;
  if (const std::string wrong = read_settings(settings, rank.engine->limits); !wrong.empty()) {
    give_up(wrong);
  }
  if (in_job) {
    tell_what_locks_overrule(rank);
  }
  if (rank.fiber == nullptr) {
    start_host(settings, sharers() > 1);
    if (settings.backtrace && rank.control != nullptr) {
      catch_crashes(rank.control);
    }
    look_for_python();
  }
  rank.policy = wait::policy();
  rank.yielding[static_cast<int>(wait::Kind::messages)] = wait::Yielding::for_messages(sharers());
  rank.wish = wait::wish();
  if (const std::string wrong = start_energy(rank); !wrong.empty()) {
    give_up(wrong);
  }
  rank.experience = std::make_shared<wait::Experience>();
  ledger::begin_account(*rank.area, rank.fiber == nullptr);
  rank.main_thread = static_cast<std::uint64_t>(pthread_self());
  if (rank.thread_level == MPI_THREAD_MULTIPLE) {
    rank.lock.enable();
  }
  if (rank.fiber == nullptr) {  // a thread rank has some since its stack was made
    rank.sleepers.prepare(rank.world_rank);
  }
  rank.engine->prepare();
  const int result = make_world(rank);
  if (result == MPI_SUCCESS) {
    rank.phase.store(Phase::active);
  }
  return result;
}

int start_thread_ranks(ranks::Plan plan, int segment) {
  if (const int error = node::segment().map(segment); error != 0) {
    return error;
  }
  fcntl(segment, F_SETFD, FD_CLOEXEC);
  Rank& host = self();
  host.world_rank = plan.first_rank;
  host.world_size = plan.world_size;
  take_locks_of_mpiexec();
  host.control = std::make_shared<node::ControlClient>(plan.control, plan.first_rank);
  if (node::hold_lifeline(number(launch::lifeline_variable)) == node::Lifeline::cut) {
    return EPIPE;
  }
  match::Limits limits;
  Settings settings;
  if (const std::string wrong = read_settings(settings, limits); !wrong.empty()) {
    give_up(wrong);
  }
  start_host(settings, sharers() > 1);
  start_energy_of_workers(host.control);
  plan.held_up = tell_of_held_up;
  plan.always_move = settings.always_move;
  return ranks::run(plan);
}

namespace {

/// A later user may get more than the first one has: but not while another thread may be in a call
/// that did not take the lock, which as far as is known only this one cannot be.
bool nobody_else_is_in_mpi(const Rank& rank) {
  return rank.thread_level <= MPI_THREAD_FUNNELED &&
         rank.main_thread == static_cast<std::uint64_t>(pthread_self());
}

void raise_thread_level(Rank& rank, int thread_level) {
  rank.thread_level = std::max(rank.thread_level, thread_level);
  if (rank.thread_level == MPI_THREAD_MULTIPLE) {
    rank.lock.enable();
  }
}

/// The last rank that moved leaves, and whether the others wait for ever cannot be told yet. They
/// look only when they fall asleep: one of them is woken to do so again, and goes on looking.
void leave_doubt_to_a_sleeper() {
  node::Segment& segment = node::segment();
  const auto ranks = static_cast<int>(segment.header().ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    const node::RankArea& area = segment.area(rank);
    const bool suspended =
        area.worker.load() != 0 && area.mailbox.sleepers.load(std::memory_order_seq_cst) != 0;
    if (area.asleep.load(std::memory_order_seq_cst) != 0 || suspended) {
      wait::ring_rank(rank);
      return;
    }
  }
}

/// After it was counted out: if all others wait for what only it could have done, they are told.
void look_once_more() {
  switch (wait::look_for_deadlock(wait::Look::hasty)) {
    case wait::Verdict::running:
      break;
    case wait::Verdict::doubt:
    case wait::Verdict::quiet:
      leave_doubt_to_a_sleeper();
      break;
    case wait::Verdict::deadlock:
      wait::report_deadlock();
      break;
  }
}

void set_state(Rank& rank, node::RankState state) {
  rank.area->report.state.store(static_cast<std::uint32_t>(state), std::memory_order_seq_cst);
}

int go_away(Rank& rank) {
  const int result = rank.world_finalized ? delete_named_types_attributes() : MPI_SUCCESS;
  wait_for_quiet();
  if (rank.users != 0) {  // another thread has opened a session meanwhile
    return result;
  }
  rank.engine->leave_memory();
  // The state first: whoever finds it in the sum finds it away (wait/deadlock/deadlock.h).
  set_state(rank, node::RankState::away);
  node::segment().header().finalized.fetch_add(1, std::memory_order_seq_cst);
  look_once_more();
  ledger::end_account(*rank.area, rank.fiber == nullptr);
  if (rank.fiber == nullptr) {
    node::segment().trim();
  }
  if (rank.control != nullptr) {
    rank.control->finalized();
  }
  rank.phase.store(Phase::away);
  return result;
}

void come_back(Rank& rank) {
  if (rank.fiber == nullptr) {
    node::segment().untrim();
  }
  rank.engine->come_back();
  if (rank.control != nullptr) {
    rank.control->back();
  }
  set_state(rank, node::RankState::running);
  node::segment().header().finalized.fetch_sub(1, std::memory_order_seq_cst);
  ledger::go_on_with_account(*rank.area, rank.fiber == nullptr);
  rank.main_thread = static_cast<std::uint64_t>(pthread_self());
  rank.phase.store(Phase::active);
}

/// At exit: no session will be opened any more.
void leave_for_good() {
  Rank& rank = self();
  if (rank.phase.load() != Phase::away) {
    return;
  }
  rank.lock.lock();
  rank.phase.store(Phase::finalizing);
  if (rank.fiber == nullptr) {
    node::segment().untrim();
  }
  delete_named_types_attributes();
  set_state(rank, node::RankState::finalized);
  look_once_more();
  free_world(rank);
  rank.spare_requests.free_all();
  if (rank.fiber == nullptr) {
    node::segment().trim();
  }
  rank.phase.store(Phase::finalized);
  rank.lock.unlock();
}

/// In a child that the process rank has forked, which shares the segment and the line to mpiexec
/// with it: to the child MPI is over. Who has held the lock may not be there.
void leave_to_parent() {
  Rank& rank = self();
  rank.phase.store(Phase::forked);
  rank.world_initialized = true;
  rank.world_finalized = true;
  rank.control.reset();
  new (&rank.lock) RankLock;
}

}  // namespace

int begin_use(Rank& rank, int thread_level) {
  if (rank.fiber == nullptr && ranks::worker_count() > 0) {
    return fail(
        MPI_ERR_OTHER,
        "a thread that is no rank cannot start MPI (thread ranks have MPI_THREAD_FUNNELED)");
  }
  if (rank.fiber != nullptr) {
    // Another kernel thread of a thread rank is nobody that a worker could run
    // (docs/guide/thread-ranks.md).
    thread_level = std::min(thread_level, MPI_THREAD_FUNNELED);
  }
  switch (rank.phase.load()) {
    case Phase::before_init:
      rank.thread_level = thread_level;
      if (const int result = start_up(rank); result != MPI_SUCCESS) {
        return result;
      }
      std::atexit(leave_for_good);
      if (rank.fiber == nullptr) {
        pthread_atfork(nullptr, nullptr, leave_to_parent);
      }
      break;
    case Phase::active:
      if (thread_level > rank.thread_level && nobody_else_is_in_mpi(rank)) {
        raise_thread_level(rank, thread_level);
      }
      break;
    case Phase::away:
      come_back(rank);
      raise_thread_level(rank, thread_level);
      break;
    case Phase::finalizing:
    case Phase::finalized:
      return fail(MPI_ERR_OTHER, "this rank has left the job; MPI cannot be initialised again");
    case Phase::forked:
      return fail(MPI_ERR_OTHER, "a child that a rank has forked is no rank: let it run a program");
  }
  ++rank.users;
  return MPI_SUCCESS;
}

int end_use(Rank& rank) {
  return --rank.users == 0 ? go_away(rank) : MPI_SUCCESS;
}

}  // namespace meantime::core
