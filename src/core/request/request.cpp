#include "core/request/request.h"

#include "core/comm/communicator.h"
#include "core/request/arming.h"
#include "core/request/progress.h"
#include "core/request/requests.h"
#include "core/request/status.h"
#include "core/request/watch_set.h"
#include "match/engine.h"
#include "rank/rank.h"
#include "wait/test_calls.h"
#include "wait/wait.h"

namespace meantime {

Request::~Request() {
  core::WatchSet::forget_ended(*this);
  drop(comm);
}

wait::Channel Request::channel() const {
  return wait::Channel::shared_memory;
}

void* Request::operator new(std::size_t bytes) {
  return self().spare_requests.take(bytes);
}

void Request::operator delete(void* request, std::size_t bytes) {
  self().spare_requests.give_back(request, bytes);
}

namespace {

/// Waits for all or for any of some requests.
class RequestsAwaited final : public wait::Awaited {
 public:
  RequestsAwaited(Request* const* requests, int count, bool all)
      : requests_(requests), count_(count), all_(all) {}

  bool ready() override { return all_ ? all_ready() : any_ready(); }
  bool progress() override { return core::progress(); }

  void arm(node::Waiter& waiter) override {
    core::Arming arming(waiter, all_);
    for (int index = 0; index < count_; ++index) {
      Request* request = requests_[index];
      if (request != nullptr && !request->complete) {
        core::WatchSet::forget(*request);
        request->slept_for = &waiter;
        arming.add(*request);
      }
    }
    arming.ends();
  }

  void disarm(node::Waiter& waiter) override {
    for (int index = 0; index < count_; ++index) {
      Request* request = requests_[index];
      if (request == nullptr) {
        continue;
      }
      if (!request->complete) {
        request->disarm(waiter);
      }
      if (request->slept_for == &waiter) {
        request->slept_for = nullptr;
      }
    }
    core::disarm_background(waiter);
  }

  int cost_of_look() const override { return core::cost_of_look(self()); }
  void about_to_sleep() override { core::let_go_before_sleep(self()); }

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

  wait::Channel channel() const override {
    const Request* last = nullptr;
    for (int index = 0; index < count_; ++index) {
      if (const Request* request = requests_[index]; request != nullptr) {
        last = request;
        if (!request->complete) {
          break;
        }
      }
    }
    return last != nullptr ? last->channel() : wait::Channel::shared_memory;
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
  // Of several the first that is open stands for all.
  const Request* first = nullptr;
  for (int index = 0; index < count && first == nullptr; ++index) {
    first = requests[index] != nullptr && !requests[index]->complete ? requests[index] : nullptr;
  }
  wait::TestLoop* const loop = wait::fruitless_test(reinterpret_cast<std::uintptr_t>(first));
  if (loop == nullptr) [[likely]] {
    return;
  }
  core::WatchSet& watched = core::watch_set_of(*loop);
  std::size_t things = 0;
  bool changed = false;
  for (int index = 0; index < count; ++index) {
    if (Request* request = requests[index]; request != nullptr && !request->complete) {
      changed = watched.watch(*request) || changed;
      things += request->watched_by == &watched ? 1 : 0;
    }
  }
  RequestsAwaited call(requests, count, all);
  core::WatchedAwaited awaited(watched, call, all && things == watched.size());
  wait::test_may_last(*loop, awaited, things, changed);
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
