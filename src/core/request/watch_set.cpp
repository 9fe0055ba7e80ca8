#include "core/request/watch_set.h"

#include <mpi.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/comm/communicator.h"
#include "core/error/error.h"
#include "core/request/requests.h"
#include "match/engine.h"
#include "match/probers.h"
#include "policy/policy.h"
#include "rank/rank.h"

namespace meantime::core {
namespace {

/// What a sleeper has to test for so as to hear of both (it probes for one only).
WatchedMessage both(const WatchedMessage& one, const WatchedMessage& other) {
  return {one.context == other.context ? one.context : match::any_context,
          one.source == other.source ? one.source : MPI_ANY_SOURCE,
          one.tag == other.tag ? one.tag : MPI_ANY_TAG};
}

/// What fails here is not what this call is about, nor is its text.
class ErrorDetailKept {
 public:
  ErrorDetailKept() : text_(error_detail()) {}
  ~ErrorDetailKept() {
    if (error_detail() != text_) [[unlikely]] {
      set_error_detail(std::move(text_));
    }
  }
  ErrorDetailKept(const ErrorDetailKept&) = delete;
  ErrorDetailKept& operator=(const ErrorDetailKept&) = delete;

 private:
  std::string text_;
};

/// As far as can be seen without `advance`. A receive's is not called: what it says when it fails
/// it says where the program tests for it.
bool is_over(Request& request) {
  if (request.complete || request.type != Request::Type::receive) {
    return request.complete;
  }
  auto& receive = static_cast<ReceiveRequest&>(request);
  return receive.over || (receive.entry != nullptr && self().engine->finished(receive));
}

}  // namespace

bool WatchedMessage::is_there() const {
  return self().engine->matcher.probe({context, source, tag}, false) != nullptr;
}

bool WatchSet::watch(Request& request) {
  if (request.watched_by == this || request.slept_for != nullptr) {
    return false;
  }
  const bool is_new = request.watched_by == nullptr;
  forget(request);
  request.watched_by = this;
  request.watch_place = static_cast<std::uint32_t>(requests_.size());
  requests_.push_back(&request);
  return is_new;
}

bool WatchSet::watch(const WatchedMessage& message) {
  const auto is_same = [&](const WatchedMessage& other) {
    return other.context == message.context && other.source == message.source &&
           other.tag == message.tag;
  };
  // A program that goes round tests for the one after the last.
  last_found_ = last_found_ + 1 < messages_.size() ? last_found_ + 1 : 0;
  if (last_found_ < messages_.size() && is_same(messages_[last_found_])) {
    return false;
  }
  const auto place = std::find_if(messages_.begin(), messages_.end(), is_same);
  last_found_ = static_cast<std::size_t>(place - messages_.begin());
  if (place != messages_.end()) {
    return false;
  }
  if (messages_.size() == most_messages) {
    messages_.clear();
    last_found_ = 0;
  }
  messages_.push_back(message);
  return true;
}

void WatchSet::disarm_and_remove(Request& request) {
  if (armed_ != nullptr && !request.complete) {
    request.disarm(*armed_);
  }
  remove(request);
}

void WatchSet::remove(Request& request) {
  Request* const last = requests_.back();
  requests_[request.watch_place] = last;
  last->watch_place = request.watch_place;
  requests_.pop_back();
  request.watched_by = nullptr;
}

void WatchSet::forget_all() {
  while (!requests_.empty()) {
    forget(*requests_.back());
  }
  messages_.clear();
}

bool WatchSet::forget_what_is_there() {
  const std::size_t before = size();
  for (std::size_t place = requests_.size(); place-- > 0;) {
    if (is_over(*requests_[place])) {
      forget(*requests_[place]);
    }
  }
  std::erase_if(messages_, [](const WatchedMessage& message) { return message.is_there(); });
  return size() != before;
}

bool WatchSet::keeps_awake() const {
  // (Rank::starving is of the last sleep.)
  const match::Engine* const engine = self().engine.get();
  return (engine != nullptr && engine->starving()) ||
         std::any_of(requests_.begin(), requests_.end(),
                     [](const Request* request) {
                       return request->comm != nullptr && request->comm->waiting != nullptr &&
                              !request->comm->waiting->sleeps();
                     }) ||
         std::any_of(messages_.begin(), messages_.end(),
                     [](const WatchedMessage& message) { return message.keeps_awake; });
}

bool WatchSet::any_there() {
  const ErrorDetailKept kept;
  for (std::size_t place = 0; place < requests_.size(); ++place) {
    Request& request = *requests_[place];
    if (is_over(request) || (request.type != Request::Type::receive && request.advance())) {
      return true;
    }
  }
  return std::any_of(messages_.begin(), messages_.end(),
                     [](const WatchedMessage& message) { return message.is_there(); });
}

void WatchSet::arm(Arming& arming, node::Waiter& waiter) {
  armed_ = &waiter;
  for (Request* request : requests_) {
    if (!request->complete) {
      arming.add(*request);
    }
  }
  probes_ = !messages_.empty();
  if (probes_) {
    WatchedMessage any = messages_.front();
    for (const WatchedMessage& message : messages_) {
      any = both(any, message);
    }
    self().engine->matcher.arm_probe(waiter, {any.context, any.source, any.tag});
  }
}

void WatchSet::disarm(node::Waiter& waiter) {
  armed_ = nullptr;
  for (Request* request : requests_) {
    if (!request->complete) {
      request->disarm(waiter);
    }
  }
  if (probes_) {
    probes_ = false;
    self().engine->matcher.disarm_probe(waiter);
  }
}

WatchSet& watch_set_of(wait::TestLoop& loop) {
  if (loop.watched == nullptr) {
    loop.watched = std::make_shared<WatchSet>();
  }
  return static_cast<WatchSet&>(*loop.watched);
}

void WatchedAwaited::arm(node::Waiter& waiter) {
  Arming arming(waiter, all_);
  watched_.arm(arming, waiter);
  arming.ends();
}

void WatchedAwaited::disarm(node::Waiter& waiter) {
  watched_.disarm(waiter);
  disarm_background(waiter);
}

}  // namespace meantime::core
