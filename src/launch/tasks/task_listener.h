// Where the tasks of a node come to their supervisor: an abstract socket, which no file shows and
// which is closed once all have come. Only this user's processes are heard, and of those only who
// knows the job's secret (protocol/task.h).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "launch/job.h"
#include "protocol/task.h"

namespace meantime::launch {

class TaskListener {
 public:
  TaskListener() = default;
  ~TaskListener();
  TaskListener(const TaskListener&) = delete;
  TaskListener& operator=(const TaskListener&) = delete;

  /// Empty, or one line why not.
  std::string open();
  /// For the tasks, in one word.
  [[nodiscard]] const std::string& address() const { return address_; }

  /// Waits until all of the job's ranks have come, and fills in who they are. Empty, or one line
  /// why they will not: the first task, the launcher or one that had come has ended.
  std::string wait_for_all(Job& job, pid_t first_task);

 private:
  enum class Heard { stranger, task, ended };
  std::string accept_one(std::size_t most);
  Heard hear(Job& job, int descriptor) const;

  int socket_ = -1;
  JobSecret secret_{};
  std::string address_;
  std::vector<int> strangers_;  ///< connected, and have said nothing yet
};

}  // namespace meantime::launch
