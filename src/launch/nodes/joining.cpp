#include "launch/nodes/joining.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

#include "launch/cli/host_list.h"
#include "launch/messages.h"
#include "launch/nodes/layout.h"
#include "launch/nodes/meeting.h"
#include "launch/nodes/other_nodes.h"
#include "launch/nodes/slurm.h"
#include "launch/start/installation.h"
#include "node/layout.h"
#include "protocol/task.h"
#include "protocol/wire_up.h"

namespace meantime::launch {
namespace {

struct Task {
  int first_of_node = 0;
  pid_t pid = -1;
  std::string node;
};

/// The CPUs of all tasks of that node.
void use_cpus_of(const std::vector<Task>& tasks, int first_of_node) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const Task& task : tasks) {
    cpu_set_t own;
    CPU_ZERO(&own);
    if (task.first_of_node == first_of_node && sched_getaffinity(task.pid, sizeof own, &own) == 0) {
      CPU_OR(&all, &all, &own);
    }
  }
  sched_setaffinity(0, sizeof all, &all);
}

}  // namespace

void take_over(CommandLine& command, const Order& order) {
  command.nodes = order.nodes;
  if (command.programs.size() == 1) {
    command.programs.front().ranks = order.ranks;
  }
}

std::string use_allocation(CommandLine& command) {
  std::string problem;
  if (!command.hosts_given) {
    command.nodes = nodes_of_slurm(problem);
    command.nodes_of_slurm = !command.nodes.empty();
  }
  if (command.nodes_of_slurm && !command.counted && command.programs.size() == 1) {
    command.programs.front().ranks = slots_of(command.nodes);
  }
  return problem;
}

bool is_task_of_launcher(const CommandLine& command) {
  return command.ranks_of_tasks && std::getenv("PMIX_NAMESPACE") != nullptr &&
         std::getenv("PMIX_RANK") != nullptr;
}

std::string join_tasks(Job& job) {
  const std::string program = prefix() + "/libexec/meantime/meantime-wire-up";
  WireUp wire_up;
  std::string wrong = wire_up.start(program, asks_for_tasks);
  wrong = wrong.empty() ? wrong : fmt::format("{}: {}", program, wrong);
  /// What is behind that beginning.
  const auto hear = [&](std::string_view beginning) -> std::string {
    const std::string line = wire_up.hear_line();
    if (line.starts_with(beginning)) {
      return line.substr(beginning.size());
    }
    wrong = line.starts_with(not_wired_up) ? line.substr(std::strlen(not_wired_up))
                                           : "meantime-wire-up has failed";
    return {};
  };
  const std::string place = wrong.empty() ? hear("task ") : std::string();
  int rank = 0;
  int size = 0;
  if (wrong.empty() && std::sscanf(place.c_str(), "%d %d", &rank, &size) != 2) {
    wrong = "meantime-wire-up does not say which task this is";
  }
  if (wrong.empty()) {
    if (rank == 0 && size > 1) {
      job.meeting = open_meeting(job.meeting_socket);
    }
    wire_up.say(job.meeting.empty() ? "-" : job.meeting);
    job.meeting = hear("meeting ");
  }
  std::vector<Task> tasks;
  for (int number = 0; number < size && wrong.empty(); ++number) {
    Task task;
    std::istringstream(hear("card ")) >> task.first_of_node >> task.pid >> task.node;
    tasks.push_back(task);
  }
  if (!wrong.empty()) {
    return fmt::format(
        "cannot join the other tasks of the launcher's job: {}; -n NUMBER starts a "
        "job of this task alone",
        wrong);
  }
  const int of_each = job.command.ranks_per_process;
  if (size > node::most_ranks / of_each) {
    return fmt::format("a job has at most {} ranks, not {} x {}", node::most_ranks, size, of_each);
  }
  job.command.programs.front().ranks = size * of_each;
  job.node_name = tasks[static_cast<std::size_t>(rank)].node;
  if (size == 1) {
    job.meeting.clear();
    return {};
  }
  job.member = rank == 0 ? -1 : rank;
  for (const Task& task : tasks) {
    job.members.push_back({task.node});
    job.members[static_cast<std::size_t>(task.first_of_node)].ranks += of_each;
  }
  job.members.front().there = job.members.front().over = true;  // this one, where it is the hub
  use_cpus_of(tasks, tasks[static_cast<std::size_t>(rank)].first_of_node);
  return {};
}

bool is_beside(const Job& job) {
  return job.member > 0 && job.members[static_cast<std::size_t>(job.member)].ranks == 0;
}

int wait_beside(const Job& job) {
  OtherNodes others;
  others.set_up(job.node_name, job.most_silent_seconds());
  if (!others.join(job.meeting, job.member)) {
    say("cannot reach the job's first task");
    return 1;
  }
  for (OtherNodes::News news;;) {
    pollfd ready{others.events(), POLLIN, 0};
    poll(&ready, 1, -1);
    while (others.hear(news)) {
      if (news.message.kind == LinkKind::over || news.message.kind == LinkKind::lost) {
        return news.message.kind == LinkKind::over ? news.message.number : 1;
      }
    }
  }
}

std::string divide_among_members(Job& job, const std::optional<Order>& order) {
  if (job.members.empty() && job.command.nodes.empty()) {
    return {};
  }
  if (job.members.empty()) {  // else they are a launcher's tasks
    const std::vector<int> counts = ranks_of_nodes(job.command.nodes, job.command.ranks());
    for (std::size_t node = 0; node < counts.size(); ++node) {
      job.members.push_back({job.command.nodes[node].name, 0, counts[node]});
    }
    job.starts_members = !order;
    if (order) {
      job.member = order->node;
      job.meeting = order->meeting;
      job.node_name = job.members[static_cast<std::size_t>(order->node)].name;
    } else {
      job.meeting = open_meeting(job.meeting_socket);
    }
  }
  if (job.meeting.empty()) {
    return fmt::format("cannot listen for the job's other nodes: {}", std::strerror(errno));
  }
  if (!job.command.debugger && job.command.placement != Placement::file &&
      job.setting("MEANTIME_TEST_NODES").empty()) {
    settle_ranks(job, job.starts_members ? -1 : std::max(job.member, 0));
    return {};
  }
  return fmt::format("{} is for jobs of one machine", job.command.debugger ? "--debugger"
                                                      : job.command.placement == Placement::file
                                                          ? "--place file"
                                                          : "MEANTIME_TEST_NODES");
}

}  // namespace meantime::launch
