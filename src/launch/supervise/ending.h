// How a job ends before its ranks do by themselves: all its processes are asked to (SIGTERM), and
// killed when they have had a moment for it; and with which status mpiexec ends.
#pragma once

#include <initializer_list>
#include <string_view>

#include "base/timer.h"
#include "launch/job.h"

namespace meantime::launch {

class Ending {
 public:
  explicit Ending(Job& job) : job_(job) {}

  [[nodiscard]] bool begun() const { return begun_; }
  [[nodiscard]] int status() const { return status_; }
  /// The job goes on; its status will be this one, unless there is one already.
  void note(int status) { status_ = status_ == 0 ? status : status_; }

  /// Asks all processes to end and says `line`, if it is not empty: in this order, for nobody may
  /// be reading. Only the first call counts. (Members that the hub has started hear of it by their
  /// links, and what started them ends with them.)
  void begin(int status, std::string_view line);
  /// Asks all processes to end; the job itself has come to its end already.
  void ask();
  /// Readable when `kill_all` is due.
  [[nodiscard]] const Timer& grace() const { return grace_; }
  /// Nobody is asked: for an order to end, or a job that could not be started.
  void begin_with_kill(int status);
  /// Afterwards all ranks count as ended. Does not return if the kernel does not let one go.
  void kill_all();
  /// The machine is as it was before the job. Once nothing of the job is left.
  void undo_changes();

 private:
  void signal_ranks(std::initializer_list<int> signals);

  Job& job_;
  Timer grace_;
  bool begun_ = false;
  int status_ = 0;
};

}  // namespace meantime::launch
