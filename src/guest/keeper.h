// The keeper of a job's guests: starts them when it is told to, ends what takes more than it may,
// and ends all of them, politely first, when it is told to or nobody is there any more who could.
// One thread, a process of its own, which sleeps unless something happened.
#pragma once

#include <memory>
#include <vector>

#include "base/timer.h"
#include "guest/guest.h"
#include "guest/plan.h"

namespace meantime::guest {

class Keeper {
 public:
  /// All signals are blocked, and the process has no children.
  explicit Keeper(Plan plan);

  /// Until all guests are gone; the exit status.
  int run();

 private:
  enum class Phase { waiting, running, interrupted, terminated };

  void hear_orders();
  void obey(Order order);
  void begin();
  void start(Guest& guest);
  void let_run();
  void end();
  void press_on();
  void kill_all();
  void reap();
  void on_end(Guest& guest);
  void look();
  void read_logs();
  void start_again();
  void tell_sums() const;
  void say(const std::string& line) const;
  bool all_gone();

  Plan plan_;
  std::vector<Guest> guests_;
  Phase phase_ = Phase::waiting;
  int signals_;
  bool stopped_ = false;  ///< as the job is: also what begins meanwhile
  bool frozen_ = false;
  std::size_t may_run_;           ///< guests that may unless they are frozen: the first ones
  std::size_t next_may_run_ = 0;  ///< as far as its digits have come
  bool alone_ = false;            ///< whoever gave orders is gone
  Timer grace_;
  Timer look_;
  Timer again_;
  Timer logs_;  ///< while it is set, logs are not read
  bool reads_logs_ = true;
  double again_seconds_ = 0;  ///< the pause before the next one is started again
  double began_ = 0;
  double ended_ = 0;
  double summed_ = 0;
};

}  // namespace meantime::guest
