// The energy framework inside: somebody who is asked in each wait what to do next, in place of the
// policy. Comes from the program (MPIX_Energy_handler_reg), from a library named in the
// environment, or is one of the ready ones below (MEANTIME_ENERGY).
//   question   what the wait looks like at present
//   answer     the next rung, or nothing: then the policy says; it holds until the next question
// Why it may be changed while threads of the rank wait: Rank::advisor is read (once, where a wait
// begins) and changed, and advisors are called, only with the rank's lock held, and a wait shares
// the ownership of the one that it began with. So when a change returns nobody is inside the one
// before, and that one decides what becomes of it in waits that still have it (replaced). Asked
// when the first looks of a wait have found nothing, then every 64 looks and after each sleep. A
// wait keeps the advisor it began with, so that another one may come or go at any time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "policy/policy.h"
#include "wait/wait.h"

namespace meantime {
struct Rank;
}

namespace meantime::wait {

class Record;

struct Question {
  const Situation& situation;
  int world_rank;
  std::uint64_t turns;             ///< fruitless looks of this wait
  std::uint64_t waited_ns;         ///< since it began
  std::uint64_t last_wait_ns;      ///< of the last recorded wait at this call site, 0: none
  bool shared_cores;               ///< who polls keeps the one that he waits for from running
  std::uint64_t busy_ns = 0;       ///< of waited_ns awake
  std::uint64_t last_busy_ns = 0;  ///< of last_wait_ns awake
  Channel channel = Channel::shared_memory;
};

class Advisor {
 public:
  virtual ~Advisor() = default;
  /// Where ranks share cores the policy decides, which gives the core away before anything else: a
  /// wait that is over then nobody is asked about.
  virtual bool leaves_shared_cores_alone() const { return false; }
  /// With the rank's lock held; must not wait in MPI.
  virtual std::optional<Step> next(const Question& question) = 0;
  /// How many nanoseconds a sleep that begins now may last until it wants to be asked again; 0: as
  /// long as it takes.
  virtual std::uint64_t longest_sleep_ns(const Question& question) {
    (void)question;
    return 0;
  }
  /// Another one has taken its place. Waits that have begun with it go on with it.
  virtual void replaced() {}
  /// The wait is over. Only if it was asked.
  virtual void over(const Question& question) { (void)question; }
};

/// Countdown (Cesarini et al.): a wait of `after_ns` asks for a lower frequency, its end for the
/// normal one; how to wait is left to the policy. No signal and no thread: the sleep of the waiter
/// has a deadline, or its looks see the time. `request` is called with the rank's lock held: true
/// when the first of the rank's waits gets there, false when the last of these is over; what it
/// returns of true says whether it could be asked.
std::shared_ptr<Advisor> countdown(std::uint64_t after_ns, std::function<bool(bool low)> request);

/// performance: polls for 10 ms. balanced: polls for twice the time that the last wait at this call
/// site took if that was less than 200 us, else sleeps. Both only on cores of their own. powersave:
/// sleeps at once.
/// nullptr: none of them.
std::shared_ptr<Advisor> ready_advisor(std::string_view name);

/// One wait's dealings with the rank's advisor; nothing if there is none.
class Consultation {
 public:
  Consultation(Rank& rank, const Record& record);
  ~Consultation();
  Consultation(const Consultation&) = delete;
  Consultation& operator=(const Consultation&) = delete;

  bool has_advisor() const { return advisor_ != nullptr; }
  /// Its last answer was one.
  bool is_advised() const { return answer_.has_value(); }
  /// `otherwise`: what the policy says.
  Step next(std::uint32_t turns, Step otherwise);
  /// As Advisor's; 0 if there is none.
  std::uint64_t longest_sleep_ns() const;
  /// It slept: the next answer may be another one.
  void slept() { answer_known_ = false; }

 private:
  Question question(std::uint64_t waited_ns) const;

  Rank& rank_;
  const Record& record_;
  std::shared_ptr<Advisor> advisor_;
  std::uint64_t turns_ = 0;
  std::optional<Step> answer_;
  bool answer_known_ = false;
  bool asked_ = false;
};

}  // namespace meantime::wait
