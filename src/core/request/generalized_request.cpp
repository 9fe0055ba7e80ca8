// Requests of the user's making (MPI 5.0, 13.2): complete when the user says so.
#include <utility>

#include "core/error/callback.h"
#include "core/request/requests.h"
#include "core/request/status.h"
#include "rank/rank.h"
#include "sleep/doorbell.h"
#include "wait/wait.h"

namespace meantime::core {

GeneralizedRequest::GeneralizedRequest(MPI_Grequest_query_function* query_function,
                                       MPI_Grequest_free_function* free_function,
                                       MPI_Grequest_cancel_function* cancel_function, void* state)
    : Request(Type::generalized),
      query_(query_function),
      free_(free_function),
      cancel_(cancel_function),
      state_(state) {
  self().area->open_ended.fetch_add(1, std::memory_order_relaxed);
}

GeneralizedRequest::~GeneralizedRequest() {
  if (!done_) {
    self().area->open_ended.fetch_sub(1, std::memory_order_relaxed);
  }
}

int GeneralizedRequest::free_state() {
  MPI_Grequest_free_function* const once = std::exchange(free_, nullptr);
  return once != nullptr ? call_user(MPI_ERR_OTHER, [&] { return once(state_); }) : MPI_SUCCESS;
}

void GeneralizedRequest::complete_by_user() {
  done_.store(true, std::memory_order_seq_cst);
  self().area->open_ended.fetch_sub(1, std::memory_order_relaxed);
  if (waiter_ != nullptr) {
    wait::ring(*waiter_);
  }
}

bool GeneralizedRequest::advance() {
  complete = done_.load(std::memory_order_acquire);
  return complete;
}

// The rank's lock orders this with complete_by_user: both are called with it.
int GeneralizedRequest::arm(node::Waiter& waiter) {
  waiter_ = &waiter;
  return done_ ? 0 : 1;
}
void GeneralizedRequest::disarm(node::Waiter&) {
  waiter_ = nullptr;
}
void GeneralizedRequest::describe(wait::Situation&) const {}

int GeneralizedRequest::cancel() {
  return cancel_ == nullptr
             ? MPI_SUCCESS
             : call_user(MPI_ERR_OTHER, [&] { return cancel_(state_, done_ ? 1 : 0); });
}

void GeneralizedRequest::query(MPI_Status* status) {
  MPI_Status unused{};
  MPI_Status* out = status == MPI_STATUS_IGNORE ? &unused : status;
  set_blank_status(out);
  if (query_ != nullptr) {
    error = call_user(MPI_ERR_OTHER, [&] { return query_(state_, out); });
  }
}

}  // namespace meantime::core
