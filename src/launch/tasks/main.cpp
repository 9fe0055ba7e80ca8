// meantime-wire-up: started by a task in MPI_Init, with a pipe to it as standard output
// (protocol/task.h). Nobody starts it by hand.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor_limit.h"
#include "launch/messages.h"
#include "launch/nodes/meeting.h"
#include "launch/report/report_files.h"
#include "launch/start/installation.h"
#include "launch/supervise/ended_process.h"
#include "launch/supervise/front.h"
#include "launch/supervise/supervisor.h"
#include "launch/tasks/ancestors.h"
#include "launch/tasks/pmix.h"
#include "launch/tasks/task_listener.h"
#include "node/layout.h"
#include "protocol/control.h"

namespace meantime::launch {
namespace {

std::string read_all(int descriptor) {
  std::string text;
  char part[1024];
  for (ssize_t bytes = 0; (bytes = read(descriptor, part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(bytes));
  }
  return text;
}

/// The CPUs that the tasks may use together, which are the job's on this node.
void use_cpus_of(const Job& job) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const RankProcess& rank : job.ranks) {
    cpu_set_t own;
    CPU_ZERO(&own);
    if (sched_getaffinity(rank.pid, sizeof own, &own) == 0) {
      CPU_OR(&all, &all, &own);
    }
  }
  sched_setaffinity(0, sizeof all, &all);
}

void prepare(Job& job, int size, const std::vector<int>& here, const std::string& path) {
  ProgramRequest program;
  program.ranks = size;
  program.arguments = {path};
  job.command.programs = {program};
  PreparedProgram prepared{program, path, {}};
  prepared.inspection.uses_mpi = true;
  job.programs = {prepared};
  job.ranks.resize(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    if (!std::binary_search(here.begin(), here.end(), rank)) {
      job.ranks[static_cast<std::size_t>(rank)].be_elsewhere();
    }
  }
  job.of_tasks = true;
  job.library_folder = library_folder();
  job.settings.read(prefix(), settings::own_environment());
  job.command.on_deadlock =
      deadlock_action(job.setting(deadlock_variable)).value_or(job.command.on_deadlock);
  ask_for_report_by_setting(job);
}

/// Where the supervisors meet, and in a second line of each rank the first one on its node.
void read_about_nodes(const std::string& text, Job& job) {
  std::istringstream lines(text);
  std::string meeting;
  std::getline(lines, meeting);
  if (job.meeting_socket < 0) {
    job.meeting = meeting;
  }
  for (int first = 0; lines >> first;) {
    if (first >= 0 && first < static_cast<int>(job.members.size())) {
      ++job.members[static_cast<std::size_t>(first)].ranks;
      job.member_of.push_back(first);
    }
  }
}

/// The supervisor that the node's first task leaves behind.
[[noreturn]] void supervise_tasks(const std::string& program, int size,
                                  const std::vector<int>& here, const std::string& node_name,
                                  pid_t first_task, pid_t launcher) {
  prctl(PR_SET_NAME, supervisor_name);
  setsid();
  speak_as("Meantime");
  raise_descriptor_limit();  // two a task; nobody inherits this
  TaskListener listener;
  if (const std::string wrong = listener.open(); !wrong.empty()) {
    write_all(STDOUT_FILENO, not_wired_up + wrong);
    _exit(1);
  }
  Job job;
  prepare(job, size, here, program);
  job.members.resize(static_cast<std::size_t>(size));  // each node's by its first rank
  job.member = here.front();
  if (job.has_other_nodes() && here.front() == 0) {
    job.meeting = open_meeting(job.meeting_socket);
  }
  write_all(STDOUT_FILENO, listener.address() + '\n' + job.meeting);
  // The launcher waits until nobody has the task's output open.
  const int from_wire_up = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  job.launcher = watch_process(launcher);
  job.launcher_pid = launcher;
  job.node_name = node_name;
  if (const std::string wrong = listener.wait_for_all(job, first_task); !wrong.empty()) {
    mention(wrong);
    _exit(1);  // and the tasks that wait for an answer hear that there is none
  }
  read_about_nodes(read_all(from_wire_up), job);  // the first task's is through: it has come
  close(from_wire_up);
  use_cpus_of(job);
  job.cpus = cpu_budget();
  // The first node's supervisor writes for all.
  if (const std::string wrong = here.front() == 0 ? open_report_files(job) : std::string();
      !wrong.empty()) {
    mention(wrong);
  }
  _exit(supervise(job, getppid()));
}

/// What users know this node by.
std::string node_name(const Pmix& pmix) {
  const char* const of_slurm = std::getenv("SLURMD_NODENAME");  // which does not say it by PMIx
  return !pmix.node_name().empty() ? pmix.node_name()
         : of_slurm != nullptr     ? of_slurm
                                   : host_name();
}

/// Two forks, so that the supervisor is not a child of the task's, which would be surprised by its
/// end; an exec, because the PMIx library has threads and descriptors in this process. Returns the
/// supervisor's address and, in a second line, where those of other nodes bring their reports; or
/// what is wrong behind `not_wired_up`. What is written to `to_supervisor` it reads to its end.
std::string start_supervisor(const Pmix& pmix, int& to_supervisor) {
  std::error_code ignored;
  const auto program =
      std::filesystem::read_symlink(fmt::format("/proc/{}/exe", getppid()), ignored);
  std::string words[] = {tasks_of + program.string(),
                         fmt::to_string(pmix.size()),
                         fmt::to_string(getppid()),
                         fmt::to_string(launcher_of(getppid())),
                         fmt::format("{}", fmt::join(pmix.on_this_node(), ",")),
                         node_name(pmix)};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                       words[4].data(), words[5].data(), nullptr};
  int ends[2];
  int back[2];
  pid_t between = pipe2(ends, O_CLOEXEC) == 0 && pipe2(back, O_CLOEXEC) == 0 ? fork() : -1;
  if (between < 0) {
    return fmt::format("{}cannot start a process: {}", not_wired_up, std::strerror(errno));
  }
  if (between == 0) {
    const pid_t parent = getpid();
    if (fork() == 0) {
      while (getppid() == parent) {
        const timespec moment{0, 1'000'000};
        nanosleep(&moment, nullptr);
      }
      dup2(back[0], STDIN_FILENO);
      dup2(ends[1], STDOUT_FILENO);
      syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
      execv("/proc/self/exe", arguments);
    }
    _exit(0);
  }
  close(ends[1]);
  close(back[0]);
  to_supervisor = back[1];
  waitpid(between, nullptr, 0);
  const std::string answer = read_all(ends[0]);
  close(ends[0]);
  return answer.empty() ? std::string(not_wired_up) + "the supervisor cannot be started" : answer;
}

std::string read_line() {
  std::string line;
  for (char letter = 0; read(STDIN_FILENO, &letter, 1) == 1 && letter != '\n';) {
    line += letter;
  }
  return line;
}

/// Of this task, what all others are to know: the first rank of its node, and its address. Empty,
/// or what is wrong.
std::string ask_for_card(const Pmix& pmix, std::string& card) {
  write_all(STDOUT_FILENO, std::string(asks_for_address) + '\n');
  const std::string line = read_line();
  if (line.empty() || line.starts_with(not_wired_up)) {
    return line.empty() ? std::string("the task has no address")
                        : line.substr(std::strlen(not_wired_up));
  }
  card = fmt::format("{} {}", pmix.on_this_node().front(), line);
  return {};
}

/// A line for each rank, and of each the first one on its node.
std::string addresses(Pmix& pmix, std::string& nodes, std::string& wrong) {
  std::string lines;
  const std::vector<int>& near = pmix.on_this_node();
  for (int rank = 0; rank < pmix.size() && wrong.empty(); ++rank) {
    std::string card = fmt::format("{} {}", near.front(), here);
    if (!std::binary_search(near.begin(), near.end(), rank)) {
      wrong = pmix.read_card(rank, card);
    }
    lines += '\n' + card;
    nodes += card.substr(0, card.find(' ') + 1);
  }
  return lines;
}

/// What the task is to read.
std::string wire_up(Pmix& pmix) {
  std::string wrong = pmix.connect(launcher_of(getppid()));
  wrong = wrong.empty() ? pmix.read_place() : wrong;
  if (!wrong.empty()) {
    return not_wired_up + wrong;
  }
  const bool has_other_nodes = static_cast<int>(pmix.on_this_node().size()) != pmix.size();
  std::string card;
  if (pmix.size() > node::most_ranks) {
    return fmt::format("{}a job has at most {} ranks, not {}", not_wired_up, node::most_ranks,
                       pmix.size());
  }
  wrong = has_other_nodes ? ask_for_card(pmix, card) : std::string();
  const bool is_first = pmix.rank() == pmix.on_this_node().front();
  int to_supervisor = -1;
  std::string address = !wrong.empty() ? not_wired_up + wrong
                        : is_first     ? start_supervisor(pmix, to_supervisor)
                                       : std::string();
  const std::size_t end_of_address = std::min(address.find('\n'), address.size());
  std::string meeting = address.substr(std::min(end_of_address + 1, address.size()));
  address.resize(end_of_address);
  // Also what is wrong: the others wait for it. The first task says it for all.
  if (const std::string not_shared = pmix.share(address, card, meeting); !not_shared.empty()) {
    return not_wired_up + not_shared;
  }
  if (!wrong.empty()) {
    return not_wired_up + wrong;
  }
  if (address.starts_with(not_wired_up)) {
    return is_first ? address : not_wired_up;
  }
  std::string nodes;
  std::string others = has_other_nodes ? addresses(pmix, nodes, wrong) : std::string();
  if (has_other_nodes && is_first && wrong.empty()) {
    wrong = pmix.read_meeting(meeting);
    write_all(to_supervisor, meeting + '\n' + nodes);
  }
  close(to_supervisor);
  if (!wrong.empty()) {
    return not_wired_up + wrong;
  }
  return fmt::format("{}{} {} {}{}", wired_up, address, pmix.rank(), pmix.app_number(), others);
}

/// What the mpiexec that is the task is to read.
std::string find_tasks(Pmix& pmix) {
  std::string wrong = pmix.connect(launcher_of(getppid()));
  wrong = wrong.empty() ? pmix.read_place() : wrong;
  if (!wrong.empty()) {
    return not_wired_up + wrong;
  }
  write_all(STDOUT_FILENO, fmt::format("task {} {}\n", pmix.rank(), pmix.size()));
  std::string meeting = read_line();
  std::string nothing = "-";
  const std::string card =
      fmt::format("{} {} {}", pmix.on_this_node().front(), getppid(), node_name(pmix));
  wrong = pmix.share(nothing, card, meeting);
  wrong = wrong.empty() ? pmix.read_meeting(meeting) : wrong;
  std::string lines = "meeting " + meeting;
  for (int rank = 0; rank < pmix.size() && wrong.empty(); ++rank) {
    std::string other;
    wrong = pmix.read_card(rank, other);
    lines += "\ncard " + other;
  }
  return wrong.empty() ? lines : not_wired_up + wrong;
}

/// Its status says whether the launcher was told.
int end_job(int status, pid_t launcher) {
  launcher = launcher > 0 ? launcher : launcher_of(getppid());  // of a task's own supervisor
  Pmix pmix;
  const bool told = pmix.connect(launcher).empty() && pmix.abort(status).empty();
  _exit(told ? 0 : 1);
}

[[noreturn]] void answer(std::string (*with)(Pmix& pmix)) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody else ends it while it waits for other tasks
  Pmix pmix;
  const std::string line = with(pmix);
  // Before it is told, for then no task's next program can be in its fence yet, which would end
  // without those that are still on their way out of this one.
  pmix.disconnect();
  write_all(STDOUT_FILENO, line + '\n');
  _exit(0);  // the PMIx library's own affairs at exit are nobody's here
}

}  // namespace
}  // namespace meantime::launch

// With six words it is the tasks' supervisor: their program's name, the job's number of ranks, the
// pids of the first task and of the launcher, the ranks of this node and its name. All but the
// first are wiped: `ps` shows that alone.
int main(int count, char** words) {
  using namespace meantime::launch;
  if (count == 4 && std::string_view(words[1]) == asks_for_end) {
    return end_job(std::atoi(words[2]), std::atoi(words[3]));
  }
  if (count == 2 && std::string_view(words[1]) == asks_for_tasks) {
    answer(find_tasks);
  }
  if (count != 6 || !std::string_view(words[0]).starts_with(tasks_of)) {
    answer(wire_up);
  }
  const int size = std::atoi(words[1]);
  const pid_t first = std::atoi(words[2]);
  const pid_t launcher = std::atoi(words[3]);
  const std::vector<int> here = numbers_in(words[4]);
  const std::string node_name = words[5];
  for (int word = 1; word < count; ++word) {
    std::memset(words[word], 0, std::strlen(words[word]));
  }
  supervise_tasks(words[0] + std::strlen(tasks_of), size, here, node_name, first, launcher);
}
