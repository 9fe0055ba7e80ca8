#include "wait/advisor.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "rank/rank.h"
#include "wait/record.h"

namespace meantime::wait {
namespace {

constexpr std::uint64_t long_poll_ns = 10'000'000;
constexpr std::uint64_t worth_polling_ns = 200'000;

/// What polls where polling pays.
class Poller : public Advisor {
  bool leaves_shared_cores_alone() const override { return true; }
};

class Performance final : public Poller {
  std::optional<Step> next(const Question& question) override {
    if (question.shared_cores) {
      return std::nullopt;
    }
    return question.waited_ns < long_poll_ns ? Step::poll : Step::park;
  }
};

class Balanced final : public Poller {
  std::optional<Step> next(const Question& question) override {
    if (question.shared_cores) {
      return std::nullopt;
    }
    const bool short_waits = question.last_wait_ns < worth_polling_ns;
    return short_waits && question.waited_ns <= 2 * question.last_wait_ns ? Step::poll : Step::park;
  }
};

class Powersave final : public Advisor {
  std::optional<Step> next(const Question&) override { return Step::park; }
};

/// Several threads of a rank may wait at a time: a wait is known by the address of its situation.
class Countdown final : public Advisor {
 public:
  Countdown(std::uint64_t after_ns, std::function<bool(bool)> request)
      : after_ns_(after_ns), request_(std::move(request)) {}

  bool leaves_shared_cores_alone() const override { return true; }
  std::optional<Step> next(const Question& question) override {
    if (question.waited_ns >= after_ns_ && place_of(question) == slow_.end()) {
      if (!slow_.empty() || request_(true)) {
        slow_.push_back(&question.situation);
      }
    }
    return std::nullopt;
  }
  std::uint64_t longest_sleep_ns(const Question& question) override {
    if (place_of(question) != slow_.end() || question.waited_ns > longest_without_sleep_ns) {
      return 0;
    }
    return question.waited_ns < after_ns_ ? after_ns_ - question.waited_ns : try_again_ns;
  }
  void over(const Question& question) override {
    if (const auto place = place_of(question); place != slow_.end()) {
      slow_.erase(place);
      if (slow_.empty()) {
        request_(false);
      }
    }
  }

 private:
  /// Its time came just after it was asked, or it could not ask.
  static constexpr std::uint64_t try_again_ns = 50'000;

  std::vector<const Situation*>::iterator place_of(const Question& question) {
    return std::find(slow_.begin(), slow_.end(), &question.situation);
  }

  const std::uint64_t after_ns_;
  const std::function<bool(bool)> request_;
  std::vector<const Situation*> slow_;  ///< waits that have asked
};

}  // namespace

std::shared_ptr<Advisor> countdown(std::uint64_t after_ns, std::function<bool(bool)> request) {
  return std::make_shared<Countdown>(after_ns, std::move(request));
}

std::shared_ptr<Advisor> ready_advisor(std::string_view name) {
  if (name == "performance") {
    return std::make_shared<Performance>();
  }
  if (name == "balanced") {
    return std::make_shared<Balanced>();
  }
  if (name == "powersave") {
    return std::make_shared<Powersave>();
  }
  return nullptr;
}

// A handler that calls MPI, though it must not, is not asked about the waits of those calls.
Consultation::Consultation(Rank& rank, const Record& record)
    : rank_(rank), record_(record), advisor_(rank.advising ? nullptr : rank.advisor) {}

namespace {

/// Reset by a destructor, because a handler may end its thread.
class Advising {
 public:
  explicit Advising(Rank& rank) : advising_(rank.advising) { advising_ = true; }
  ~Advising() { advising_ = false; }
  Advising(const Advising&) = delete;
  Advising& operator=(const Advising&) = delete;

 private:
  bool& advising_;
};

}  // namespace

Consultation::~Consultation() {
  if (asked_) {
    const Advising advising(rank_);
    advisor_->over(question(record_.waited_ns()));
  }
}

Question Consultation::question(std::uint64_t waited_ns) const {
  return {record_.situation(),
          rank_.world_rank,
          turns_,
          waited_ns,
          record_.last_wait_ns(),
          record_.shared_cores(),
          record_.busy_ns(waited_ns),
          record_.last_busy_ns(),
          record_.channel()};
}

std::uint64_t Consultation::longest_sleep_ns() const {
  return advisor_ == nullptr ? 0 : advisor_->longest_sleep_ns(question(record_.waited_ns()));
}

Step Consultation::next(std::uint32_t turns, Step otherwise) {
  ++turns_;
  const std::uint64_t waited = (turns & 63) == 0 || !answer_known_ ? record_.waited_ns() : 0;
  if (waited != 0) {
    const Advising advising(rank_);
    asked_ = true;
    answer_ = advisor_->next(question(waited));
    answer_known_ = true;
  }
  // Only who sleeps can be found to wait for ever.
  return waited > longest_without_sleep_ns ? Step::park : answer_.value_or(otherwise);
}

}  // namespace meantime::wait
