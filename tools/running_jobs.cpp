#include "running_jobs.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "deadlock/report.h"
#include "launch/inspect/process_info.h"
#include "launch/supervise/front.h"
#include "machine/process_stat.h"
#include "node/process.h"
#include "node/segment.h"
#include "protocol/call_names.h"
#include "settings/shown.h"
#include "symbolize/symbolized_text.h"

namespace meantime::tools {
namespace {

std::vector<int> numbers_in(const std::string& folder) {
  std::vector<int> numbers;
  if (DIR* open_folder = opendir(folder.c_str())) {
    while (const dirent* entry = readdir(open_folder)) {
      if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') {
        numbers.push_back(std::atoi(entry->d_name));
      }
    }
    closedir(open_folder);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// What can be read of it: nothing or a part if the process ends meanwhile. (An iterator over the
/// stream's buffer would throw then; read() takes it for the end.)
std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char part[4096];
  while (file.read(part, sizeof part), file.gcount() > 0) {
    text.append(part, static_cast<std::size_t>(file.gcount()));
  }
  return text;
}

bool is_supervisor(pid_t pid) {
  std::string name = text_of(fmt::format("/proc/{}/comm", pid));
  return name == fmt::format("{}\n", launch::supervisor_name);
}

std::string command_line(pid_t pid) {
  std::string words = text_of(fmt::format("/proc/{}/cmdline", pid));
  words.resize(words.find_last_not_of('\0') + 1);
  std::replace(words.begin(), words.end(), '\0', ' ');
  return words;
}

/// A descriptor of our own for the job's segment, or -1.
int open_segment(pid_t supervisor) {
  const std::string folder = fmt::format("/proc/{}/fd", supervisor);
  for (int number : numbers_in(folder)) {
    const std::string path = fmt::format("{}/{}", folder, number);
    char target[PATH_MAX];
    const ssize_t length = readlink(path.c_str(), target, sizeof target);
    if (length > 0 && std::string_view(target, static_cast<std::size_t>(length))
                          .starts_with(std::string("/memfd:") + node::segment_name)) {
      return open(path.c_str(), O_RDWR | O_CLOEXEC);
    }
  }
  return -1;
}

}  // namespace

std::vector<RunningJob> running_jobs() {
  std::vector<RunningJob> jobs;
  for (pid_t pid : numbers_in("/proc")) {
    if (!is_supervisor(pid)) {
      continue;
    }
    // A rank that is about to execute its program still has the name of the supervisor, its parent.
    const std::string words = command_line(pid);
    const bool of_tasks = words.starts_with(launch::tasks_of);
    const pid_t mpiexec = of_tasks ? pid : machine::process_stat(pid).parent;
    if (mpiexec == 0 || (!of_tasks && is_supervisor(mpiexec))) {
      continue;
    }
    const int segment = open_segment(pid);
    if (segment < 0) {
      continue;
    }
    close(segment);
    jobs.push_back(
        {mpiexec, pid, of_tasks ? words : command_line(mpiexec), launch::process_seconds(pid)});
  }
  return jobs;
}

bool has_ended(const RankLine& rank) {
  const char state = rank.pid > 0 ? machine::process_stat(rank.pid).state : 'R';
  return state == 0 || state == 'Z' || state == 'X';
}

namespace {

/// By a process for this alone.
std::vector<RankLine> read_ranks(const RunningJob& job) {
  std::vector<RankLine> ranks;
  const int descriptor = open_segment(job.supervisor);
  node::Segment segment;
  if (descriptor < 0 || segment.map(descriptor) != 0) {
    return ranks;
  }
  std::istringstream lines(launch::symbolized(wait::describe_ranks(segment, call_name)));
  for (std::string line; std::getline(lines, line);) {
    const node::RankArea& area = segment.area(static_cast<int>(ranks.size()));
    RankLine rank;
    rank.pid = node::pid_here(area);
    rank.host = node::host_here(area);
    const char state = rank.pid > 0 ? machine::process_stat(rank.pid).state : 0;
    rank.ended = has_ended(rank);
    rank.text = rank.ended ? fmt::format("  rank {} (pid {}) has ended", ranks.size(), rank.pid)
                           : line + (state == 'T'   ? ", is stopped"
                                     : state == 't' ? ", is stopped by a debugger"
                                                    : "");
    ranks.push_back(rank);
  }
  return ranks;
}

struct Owner {
  uid_t user;
  gid_t group;
  bool alone;  ///< it has no other user's rights
};

/// None if it is gone. Not the owner of its folder: that is root for a process that nobody may look
/// into.
std::optional<Owner> owner_of(pid_t process) {
  const std::string status = text_of(fmt::format("/proc/{}/status", process));
  Owner owner{};
  uid_t others[2];
  const bool known = std::sscanf(status.c_str() + std::min(status.find("\nUid:"), status.size()),
                                 "\nUid: %u %u %u %*u\nGid: %u", &owner.user, &others[0],
                                 &others[1], &owner.group) == 4;
  owner.alone = others[0] == owner.user && others[1] == owner.user;
  return known ? std::optional(owner) : std::nullopt;
}

/// Root would follow files of the job's owner where he may not.
bool take_rights_of(const Owner& owner) {
  return geteuid() != 0 ||
         (setgroups(0, nullptr) == 0 && setresgid(owner.group, owner.group, owner.group) == 0 &&
          setresuid(owner.user, owner.user, owner.user) == 0);
}

/// 0 if it is somebody else's: a job could say anything.
pid_t if_owned(pid_t process, const Owner& owner) {
  const std::optional<Owner> found = process > 0 ? owner_of(process) : std::nullopt;
  return found && (found->user != owner.user || !found->alone) ? 0 : process;
}

}  // namespace

// What lies in the segment its owner may write, and cut off while it is read. So somebody else
// reads it, who has no more rights than he, and not for ever.
std::vector<RankLine> ranks_of(const RunningJob& job) {
  constexpr unsigned most_seconds = 10;
  int ends[2];
  const std::optional<Owner> owner = owner_of(job.supervisor);
  if (!owner || pipe2(ends, O_CLOEXEC) != 0) {
    return {};
  }
  const pid_t reader = fork();
  if (reader == 0) {
    alarm(most_seconds);
    if (take_rights_of(*owner)) {
      for (const RankLine& rank : read_ranks(job)) {
        dprintf(ends[1], "%d %d %d %s\n", rank.pid, rank.host, rank.ended ? 1 : 0,
                settings::shown(rank.text, settings::any_length).c_str());
      }
    }
    _exit(0);
  }
  close(ends[1]);
  std::istringstream lines(text_of(fmt::format("/proc/self/fd/{}", ends[0])));
  close(ends[0]);
  if (reader > 0) {
    waitpid(reader, nullptr, 0);
  }
  std::vector<RankLine> ranks;
  RankLine rank;
  while (lines >> rank.pid >> rank.host >> rank.ended && lines.get() == ' ' &&
         std::getline(lines, rank.text)) {
    rank.pid = if_owned(rank.pid, *owner);
    rank.host = if_owned(rank.host, *owner);
    ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace meantime::tools
