// One guest: a program that runs when nobody else wants its CPUs (SCHED_IDLE), in a process group
// of its own, with little to its name: an environment without the job, no descriptors but its log
// and its counter, limits.
//
// In the job's session, not in one of its own: where the kernel groups processes by session
// (sched_autogroup), a session shares the CPU with others as equals, whatever its processes are.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "guest/account.h"
#include "guest/log.h"
#include "guest/plan.h"

namespace meantime::guest {

/// Where a guest finds its counter: eight bytes, a number that it adds to, mapped or written.
inline constexpr char units_variable[] = "MEANTIME_GUEST_UNITS";
inline constexpr char number_variable[] = "MEANTIME_GUEST_INDEX";
inline constexpr char count_variable[] = "MEANTIME_GUESTS";

class Guest {
 public:
  Guest(const Plan& plan, int number);

  /// Empty, or one line why not.
  std::string start();
  [[nodiscard]] bool running() const { return pid_ > 0; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] Log& log() { return log_; }
  /// To all of its group.
  void signal(int signal) const;
  /// Or it is stopped. It goes on again when somebody sends it SIGCONT, too: then say so.
  void let_run(bool run);
  void was_let_run() { stopped_ = false; }
  /// It takes too much: `what`.
  void kill_for(const std::string& what);
  /// Of it and its children, as they run.
  void note_cpu(double seconds) { cpu_seconds_ = seconds; }
  [[nodiscard]] double cpu_seconds() const { return running() ? cpu_seconds_ : 0; }
  /// It has ended, and was waited for.
  void ended(int wait_status, const rusage& used);
  /// "guest 2"
  [[nodiscard]] std::string name() const;
  /// Why one that nobody has asked to end did; empty if all is well.
  [[nodiscard]] std::string failure() const;
  /// Its end before that was a failure, too.
  [[nodiscard]] bool had_failed() const { return had_failed_; }
  [[nodiscard]] double began() const { return began_; }
  [[nodiscard]] GuestAccount account() const;

 private:
  [[noreturn]] void become(pid_t keeper) const;

  const Plan& plan_;
  int number_;
  Log log_;
  int counter_;
  pid_t pid_ = -1;
  bool stopped_ = false;
  double began_ = 0;
  double cpu_seconds_ = 0;
  std::string last_line_;
  std::string too_much_;
  bool had_failed_ = false;
  GuestAccount account_;
};

}  // namespace meantime::guest
