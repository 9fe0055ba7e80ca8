// The guests of a job as the supervisor has them: the keeper, and what it tells.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "base/timer.h"
#include "guest/account.h"
#include "guest/plan.h"
#include "launch/job.h"
#include "launch/start/spawn.h"

namespace meantime::launch {

class Guests {
 public:
  explicit Guests(const Job& job) : job_(job) {}

  /// If the job has guests. As long as this process is in the session of the ranks-to-be, for that
  /// is where guests belong (guest/guest.h). Empty, or one line why not.
  std::string start_keeper();

  /// A rank is in MPI: guests start, once.
  void begin() {
    if (!std::exchange(told_to_begin_, true)) {
      tell(guest::Order::begin);
    }
  }
  void stop() { tell(guest::Order::stop); }
  void go_on() { tell(guest::Order::go_on); }
  /// Often.
  void freeze() { tell(guest::Order::freeze); }
  void thaw() { tell(guest::Order::thaw); }
  /// So many of them, but none while they are frozen.
  void let_run(std::size_t guests);
  /// MPI is over for all ranks.
  void end();
  [[nodiscard]] bool told_to_end() const { return told_to_end_; }

  /// The keeper is a child of ours that has not been waited for.
  [[nodiscard]] bool running() const { return running_; }
  /// Its socket; -1 once it has ended.
  [[nodiscard]] int control() const { return control_; }
  /// What comes from there.
  void hear();
  /// Readable when the keeper has not done what `end` asked for in any time that it could need.
  [[nodiscard]] const Timer& late() const { return late_; }

  /// A child of ours has been waited for, which may be the keeper.
  void note_end(pid_t pid, const rusage& used);
  [[nodiscard]] const guest::Account& account() const { return listener_.account(); }
  [[nodiscard]] const guest::SoFar& so_far() const { return listener_.so_far(); }
  /// Of the keeper and the guests, once they have ended.
  [[nodiscard]] double cpu_seconds() const { return cpu_seconds_; }

 private:
  void tell(guest::Order order) const;

  const Job& job_;
  Spawn spawn_;
  pid_t pid_ = -1;
  int control_ = -1;
  bool running_ = false;
  bool told_to_begin_ = false;
  bool told_to_end_ = false;
  std::optional<std::size_t> may_run_;  ///< as the keeper was told
  Timer late_;
  guest::Listener listener_;
  double cpu_seconds_ = 0;
};

}  // namespace meantime::launch
