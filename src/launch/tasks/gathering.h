// Where the tasks of a node meet their supervisor: an abstract socket, which no file shows and
// which is gone with its process. Only this user's processes are heard, and of those only who knows
// the job's secret (protocol/task.h).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "launch/job.h"
#include "protocol/task.h"

namespace meantime::launch {

class Gathering {
 public:
  Gathering() = default;
  ~Gathering();
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

  /// Empty, or one line why not.
  std::string open();
  /// For the tasks, in one word.
  [[nodiscard]] const std::string& address() const { return address_; }

  /// Waits until all of the job's ranks have come, and fills in who they are. False if one that
  /// has come, or the first task before it has, has ended.
  bool wait_for_all(Job& job, pid_t first_task);

 private:
  void accept_one();
  bool hear(Job& job, int descriptor);

  int socket_ = -1;
  JobSecret secret_{};
  std::string address_;
  std::vector<int> strangers_;  ///< connected, and have said nothing yet
  int come_ = 0;
};

}  // namespace meantime::launch
