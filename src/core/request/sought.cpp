#include "core/request/sought.h"

#include <mpi.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/comm/communicator.h"
#include "core/error/error.h"
#include "core/request/requests.h"
#include "match/engine.h"
#include "match/seekers.h"
#include "policy/policy.h"
#include "rank/rank.h"

namespace meantime::core {
namespace {

/// What a sleeper has to look for so as to hear of both (it looks for one only).
SoughtMessage both(const SoughtMessage& one, const SoughtMessage& other) {
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
/// it says where the program asks for it.
bool is_over(const Request& request) {
  if (request.complete || request.type != Request::Type::receive) {
    return request.complete;
  }
  match::Receive* const entry = static_cast<const ReceiveRequest&>(request).entry;
  return entry != nullptr && self().engine->finished(*entry);
}

}  // namespace

bool SoughtMessage::is_there() const {
  return self().engine->matcher.probe({context, source, tag}, false) != nullptr;
}

bool Sought::seek(Request& request) {
  if (request.sought_by == this || request.slept_for != nullptr) {
    return false;
  }
  const bool is_new = request.sought_by == nullptr;
  forget(request);
  request.sought_by = this;
  request.sought_place = static_cast<std::uint32_t>(requests_.size());
  requests_.push_back(&request);
  return is_new;
}

bool Sought::seek(const SoughtMessage& message) {
  const auto is_same = [&](const SoughtMessage& other) {
    return other.context == message.context && other.source == message.source &&
           other.tag == message.tag;
  };
  // A program that goes round looks for the one after the last.
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

void Sought::disarm_and_remove(Request& request) {
  if (armed_ != nullptr && !request.complete) {
    request.disarm(*armed_);
  }
  remove(request);
}

void Sought::remove(Request& request) {
  Request* const last = requests_.back();
  requests_[request.sought_place] = last;
  last->sought_place = request.sought_place;
  requests_.pop_back();
  request.sought_by = nullptr;
}

void Sought::forget_all() {
  while (!requests_.empty()) {
    forget(*requests_.back());
  }
  messages_.clear();
}

bool Sought::forget_what_is_there() {
  const std::size_t before = size();
  for (std::size_t place = requests_.size(); place-- > 0;) {
    if (is_over(*requests_[place])) {
      forget(*requests_[place]);
    }
  }
  std::erase_if(messages_, [](const SoughtMessage& message) { return message.is_there(); });
  return size() != before;
}

bool Sought::keeps_awake() const {
  // (Rank::starving is of the last sleep.)
  const match::Engine* const engine = self().engine.get();
  return (engine != nullptr && engine->starving()) ||
         std::any_of(requests_.begin(), requests_.end(),
                     [](const Request* request) {
                       return request->comm != nullptr && request->comm->waiting != nullptr &&
                              !request->comm->waiting->sleeps();
                     }) ||
         std::any_of(messages_.begin(), messages_.end(),
                     [](const SoughtMessage& message) { return message.keeps_awake; });
}

bool Sought::any_there() {
  const ErrorDetailKept kept;
  for (std::size_t place = 0; place < requests_.size(); ++place) {
    Request& request = *requests_[place];
    if (is_over(request) || (request.type != Request::Type::receive && request.advance())) {
      return true;
    }
  }
  return std::any_of(messages_.begin(), messages_.end(),
                     [](const SoughtMessage& message) { return message.is_there(); });
}

void Sought::arm(Arming& arming, node::Waiter& waiter) {
  armed_ = &waiter;
  for (Request* request : requests_) {
    if (!request->complete) {
      arming.add(*request);
    }
  }
  probes_ = !messages_.empty();
  if (probes_) {
    SoughtMessage any = messages_.front();
    for (const SoughtMessage& message : messages_) {
      any = both(any, message);
    }
    self().engine->matcher.seek(waiter, {any.context, any.source, any.tag});
  }
}

void Sought::disarm(node::Waiter& waiter) {
  armed_ = nullptr;
  for (Request* request : requests_) {
    if (!request->complete) {
      request->disarm(waiter);
    }
  }
  if (probes_) {
    probes_ = false;
    self().engine->matcher.stop_seeking(waiter);
  }
}

Sought& sought_of(wait::Looks& looks) {
  if (looks.sought == nullptr) {
    looks.sought = std::make_shared<Sought>();
  }
  return static_cast<Sought&>(*looks.sought);
}

void SoughtAwaited::arm(node::Waiter& waiter) {
  Arming arming(waiter, all_);
  sought_.arm(arming, waiter);
  arming.ends();
}

void SoughtAwaited::disarm(node::Waiter& waiter) {
  sought_.disarm(waiter);
  disarm_background(waiter);
}

}  // namespace meantime::core
