#include "core/request/ending.h"

#include <algorithm>
#include <vector>

#include "core/request/buffered.h"
#include "core/request/point_to_point.h"
#include "core/request/progress.h"
#include "core/request/requests.h"
#include "match/engine.h"
#include "net/network.h"
#include "node/segment.h"
#include "rank/rank.h"
#include "sleep/doorbell.h"
#include "wait/wait.h"

namespace meantime::core {

void retire(MPI_Request* handle, Request* request) {
  if (request->persistent) {
    request->active = false;
    return;
  }
  *handle = MPI_REQUEST_NULL;
  if (request != completed_send) {
    delete request;
  }
}

void destroy(Request* request) {
  if (request->type == Request::Type::generalized) {
    static_cast<GeneralizedRequest*>(request)->free_state();
  }
  delete request;
}

void abandon(Request* request) {
  request->abandoned = true;
  if (request->complete || request->advance()) {
    destroy(request);
  } else {
    self().abandoned.push_back(request);
  }
}

bool advance_abandoned() {
  if (self().abandoned.empty()) {
    return false;
  }
  // Taken off the list first: a user's function may call MPI, which comes here again.
  std::vector<Request*>& abandoned = self().abandoned;
  const auto first = std::partition(abandoned.begin(), abandoned.end(),
                                    [](Request* request) { return !request->advance(); });
  if (first == abandoned.end()) {
    return false;
  }
  const std::vector<Request*> over(first, abandoned.end());
  abandoned.erase(first, abandoned.end());
  for (Request* request : over) {
    destroy(request);
  }
  return true;
}

namespace {

/// Of matches (match/spilled.h), as long as there is no memory for them. Others give some up.
class NoticesAwaited final : public wait::Awaited {
 public:
  bool ready() override { return !self().engine->owes_notices(); }
  bool progress() override { return core::progress(); }
  void arm(node::Waiter& waiter) override {
    wait::expect(waiter, 1);
    arm_background(waiter);
  }
  void disarm(node::Waiter& waiter) override { disarm_background(waiter); }
  int cost_of_look() const override { return core::cost_of_look(self()); }
  void about_to_sleep() override { let_go_before_sleep(self()); }
  void describe(wait::Situation& situation) const override { situation.requests = 0; }
};

/// The buffer of a freed receive is the program's again behind MPI_Finalize, and whoever sends to
/// it may need this rank to be there until then. Its message may never come: nobody is left to send
/// it once all ranks are gone, or are here, which counts as gone. (To the search for deadlocks a
/// rank that looks for something is awake, whatever it counts as.)
void wait_for_freed_receives(std::vector<Request*>& abandoned) {
  const auto first = std::partition(abandoned.begin(), abandoned.end(), [](const Request* request) {
    return request->type == Request::Type::generalized;
  });
  std::vector<Request*> open(first, abandoned.end());  // nobody else moves them on meanwhile
  abandoned.erase(first, abandoned.end());
  // (Of several nodes all ranks wait for each other at the end: core/start/use.cpp.)
  if (open.empty() || net::network() != nullptr) {
    abandoned.insert(abandoned.end(), open.begin(), open.end());
    return;
  }
  node::Header& header = node::segment().header();
  header.finalized.fetch_add(1, std::memory_order_seq_cst);
  for (;;) {
    progress();
    std::erase_if(open, [](Request* request) {
      const bool over = request->complete || request->advance();
      if (over) {
        delete request;
      }
      return over;
    });
    if (open.empty() || header.finalized.load(std::memory_order_seq_cst) >= header.ranks) {
      break;
    }
    looked_in_vain(open.data(), static_cast<int>(open.size()), false);
  }
  header.finalized.fetch_sub(1, std::memory_order_seq_cst);
  abandoned.insert(abandoned.end(), open.begin(), open.end());
}

}  // namespace

void wait_for_quiet() {
  flush_all_buffers();  // MPI 5.0, 11.2.2: as if the buffers were detached
  // A receive may never be matched, a generalised request never completed.
  std::vector<Request*>& abandoned = self().abandoned;
  const auto first = std::partition(abandoned.begin(), abandoned.end(), [](const Request* request) {
    return request->type == Request::Type::receive || request->type == Request::Type::generalized ||
           request->type == Request::Type::partitioned_receive;
  });
  std::vector<Request*> open(first, abandoned.end());
  abandoned.erase(first, abandoned.end());
  wait_all(open.data(), static_cast<int>(open.size()));
  for (Request* request : open) {
    delete request;
  }
  wait_for_freed_receives(abandoned);
  if (self().engine->owes_notices()) {
    NoticesAwaited awaited;
    wait::until(awaited);
  }
}

}  // namespace meantime::core
