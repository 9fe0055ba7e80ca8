#include "core/request.h"

#include "core/communicator.h"
#include "core/progress.h"
#include "core/requests.h"
#include "core/status.h"
#include "match/engine.h"
#include "rank/rank.h"
#include "wait/wait.h"

namespace meantime {

Request::~Request() {
  drop(comm);
}

void* Request::operator new(std::size_t bytes) {
  return self().spare_requests.take(bytes);
}

void Request::operator delete(void* request, std::size_t bytes) {
  self().spare_requests.give_back(request, bytes);
}

namespace {

/// Large enough that no number of completions reaches 0 while the arming goes on.
constexpr std::int32_t arming_bias = 1 << 30;

/// Waits for all or for any of some requests. For all of them, the sleeper is woken once, by the
/// last; a collective's request needs its rank in between, so then any completion wakes.
class RequestsAwaited final : public wait::Awaited {
 public:
  RequestsAwaited(Request* const* requests, int count, bool all)
      : requests_(requests), count_(count), all_(all) {}

  bool ready() override { return all_ ? all_ready() : any_ready(); }
  bool progress() override { return core::progress(); }

  void arm(node::Waiter& waiter) override {
    wait::expect(waiter, arming_bias);
    std::int32_t leaves = 0;
    bool any = !all_;
    bool can_go_on = false;
    const Request* only = nullptr;
    int open = 0;
    for (int index = 0; index < count_; ++index) {
      Request* request = requests_[index];
      if (request != nullptr && !request->complete) {
        const int armed = request->arm(waiter);
        leaves += armed;
        only = ++open == 1 ? request : nullptr;
        any = any || request->composed;
        // A collective with no leaf left to wait for can go on by itself; nobody would ring for it.
        can_go_on = can_go_on || (request->composed && armed == 0);
      }
    }
    // A collective that is waited for alone can do nothing before its whole round is there: one
    // wake-up instead of one for each of its messages.
    if (all_ && only != nullptr && only->type == Request::Type::collective) {
      any = false;
    }
    any = core::arm_background(waiter) || any;
    if (can_go_on) {
      wait::ring(waiter);
    } else if (any) {
      // Whatever completed since we began is a reason not to sleep.
      if (!wait::expect_instead(waiter, arming_bias, 1)) {
        wait::ring(waiter);
      }
    } else if (wait::expect_more(waiter, leaves - arming_bias) <= 0) {
      wait::ring(waiter);
    }
  }

  void disarm(node::Waiter& waiter) override {
    for (int index = 0; index < count_; ++index) {
      Request* request = requests_[index];
      if (request != nullptr && !request->complete) {
        request->disarm(waiter);
      }
    }
    core::disarm_background(waiter);
  }

  void about_to_sleep() override { core::hand_over_background(self()); }

  void describe(wait::Situation& situation) const override {
    std::uint32_t open = 0;
    for (int index = 0; index < count_; ++index) {
      const Request* request = requests_[index];
      if (request != nullptr && !request->complete) {
        if (open++ == 0) {
          request->describe(situation);
        }
      }
    }
    situation.requests = open;
  }

  int found = -1;  ///< by any_ready

 private:
  bool all_ready() {
    // Only the first that is not complete is looked at in each turn.
    while (next_ < count_ && (requests_[next_] == nullptr || requests_[next_]->complete ||
                              requests_[next_]->advance())) {
      ++next_;
    }
    return next_ == count_;
  }
  bool any_ready() {
    for (int index = 0; index < count_; ++index) {
      Request* request = requests_[index];
      if (request != nullptr && (request->complete || request->advance())) {
        found = index;
        return true;
      }
    }
    return false;
  }

  Request* const* requests_;
  int count_;
  bool all_;
  int next_ = 0;
};

}  // namespace

void wait_all(Request* const* requests, int count) {
  RequestsAwaited awaited(requests, count, true);
  wait::until(awaited);
}

int wait_any(Request* const* requests, int count) {
  RequestsAwaited awaited(requests, count, false);
  wait::until(awaited);
  return awaited.found;
}

void looked_in_vain(Request* const* requests, int count, bool all) {
  RequestsAwaited awaited(requests, count, all);
  // Of several the first that is open stands for all.
  const Request* open = nullptr;
  for (int index = 0; index < count && open == nullptr; ++index) {
    open = requests[index] != nullptr && !requests[index]->complete ? requests[index] : nullptr;
  }
  wait::fruitless_look(awaited, reinterpret_cast<std::uintptr_t>(open));
}

namespace core {

void set_status(MPI_Status* status, const Request& request) {
  if (status == MPI_STATUS_IGNORE) {
    return;
  }
  status->MPI_SOURCE = request.source;
  status->MPI_TAG = request.tag;
  set_status_bytes(*status, request.bytes);
  set_status_cancelled(*status, request.cancelled);
}

int finish(Request* request, MPI_Status* status) {
  wait_all(&request, 1);
  set_status(status, *request);
  const int error = request->error;
  delete request;
  return error;
}

}  // namespace core
}  // namespace meantime
