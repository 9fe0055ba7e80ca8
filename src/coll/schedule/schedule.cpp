#include "coll/schedule/schedule.h"

#include <algorithm>
#include <cstddef>
#include <memory>

#include "coll/elements.h"
#include "coll/schedule/progress.h"
#include "core/error/error.h"
#include "core/request/point_to_point.h"
#include "core/request/progress.h"
#include "core/request/requests.h"
#include "match/engine.h"
#include "rank/rank.h"
#include "sleep/doorbell.h"
#include "wait/wait.h"

namespace meantime::coll {
namespace {

/// A collective says how much each rank gives (MPI 5.0, 6.1): less is an error, too.
int check_size(const Request& message) {
  if (message.type != Request::Type::receive) {
    return MPI_SUCCESS;
  }
  const core::Operation& expected = static_cast<const core::ReceiveRequest&>(message).operation;
  const MPI_Count bytes = expected.count * expected.type->size;
  return message.bytes < bytes
             ? fail(MPI_ERR_COUNT, "rank {} gave {} bytes where this rank expects {}",
                    message.source, message.bytes, bytes)
             : MPI_SUCCESS;
}

}  // namespace

Schedule::~Schedule() {
  for (Step& step : steps_) {
    for (const Piece* piece : {&step.from, &step.to}) {
      if (piece->type != nullptr) {
        drop(piece->type);
      }
    }
    if (step.op != nullptr) {
      drop(step.op);
    }
  }
}

Piece Schedule::held(const Piece& piece) {
  hold(*piece.type);
  return piece;
}

void Schedule::send(const Piece& piece, int to) {
  if (to != MPI_PROC_NULL) {
    steps_.push_back({Kind::send, rank_of(to), held(piece), {}, nullptr});
  }
}

void Schedule::receive(const Piece& piece, int from) {
  if (from != MPI_PROC_NULL) {
    steps_.push_back({Kind::receive, rank_of(from), {}, held(piece), nullptr});
  }
}

void Schedule::fence() {
  if (!steps_.empty() && steps_.back().kind != Kind::fence) {
    steps_.push_back({Kind::fence, 0, {}, {}, nullptr});
  }
}

void Schedule::copy(const Piece& from, const Piece& to) {
  steps_.push_back({Kind::copy, 0, held(from), held(to), nullptr});
}

void Schedule::reduce(const void* in, void* inout, MPI_Count count, Datatype& type, Op& op) {
  steps_.push_back(
      {Kind::reduce, 0, held({in, count, type}), held({inout, count, type}), hold(op)});
}

void Schedule::call(std::function<void()> what) {
  steps_.push_back({Kind::call, static_cast<int>(calls_.size()), {}, {}, nullptr});
  calls_.push_back(std::move(what));
}

char* Schedule::memory(std::size_t bytes) {
  memory_.push_back(std::unique_ptr<char[]>(new char[bytes]));
  return memory_.back().get();
}

Piece Schedule::elements(MPI_Count count, Datatype& type) {
  const Room room(count, type);
  return {memory(room.bytes) + room.buffer, count, type};
}

ScheduleRequest::ScheduleRequest(Communicator& comm, int tag, std::unique_ptr<Schedule> schedule,
                                 bool persistent)
    : Request(Type::collective), schedule_(std::move(schedule)), tag_(tag) {
  this->comm = hold(comm);
  this->persistent = persistent;
  active = false;
  source = MPI_ANY_SOURCE;
}

ScheduleRequest::~ScheduleRequest() {
  progress_of(self()).remove(*this);
}

int ScheduleRequest::start() {
  next_ = 0;
  error = MPI_SUCCESS;
  complete = false;
  active = true;
  progress_of(self()).add(*this);
  core::register_collective_hooks(Progress::hooks);
  advance();
  return MPI_SUCCESS;
}

bool ScheduleRequest::advance() {
  if (active && !complete) {
    move();
  }
  return complete;
}

bool ScheduleRequest::move() {
  const std::size_t moved_before = moved_;
  if (run_to_next_fence()) {
    complete = true;
    ++moved_;
    progress_of(self()).remove(*this);
  }
  if (moved_ == moved_before) {
    return false;
  }
  if (complete) {
    for (node::Waiter* waiter : waiters_) {
      wait::ring(*waiter);
    }
    waiters_.clear();
  } else {
    leave_unattended();  // what was started now is not armed
  }
  return true;
}

bool ScheduleRequest::run_to_next_fence() {
  const std::vector<Schedule::Step>& steps = schedule_->steps_;
  while (next_ < steps.size()) {
    if (steps[next_].kind == Schedule::Kind::fence && !all_arrived()) {
      return false;
    }
    if (!run(steps[next_])) {
      all_arrived();  // what is over gives memory back
      return false;
    }
    ++moved_;
    ++next_;
  }
  return all_arrived();
}

bool ScheduleRequest::all_arrived() {
  std::size_t left = 0;
  for (Request* request : under_way_) {
    if (request->advance()) {
      ++moved_;
      note(request->error);
      note(check_size(*request));
      went_ = request->channel();
      delete request;
    } else {
      under_way_[left++] = request;
    }
  }
  under_way_.resize(left);
  return left == 0;
}

/// False: there is no memory for it now. Then the rank naps, and tries again at each look: what
/// comes after it, another rank's result even, needs this step.
bool ScheduleRequest::run(const Schedule::Step& step) {
  Request* request = nullptr;
  const bool in_vain = schedule_->passes_errors_on_ && error != MPI_SUCCESS;
  switch (step.kind) {
    case Schedule::Kind::send:
      note(core::start_send(
          core::send_of(step.from.buffer, in_vain ? 0 : step.from.count, *step.from.type, step.peer,
                        tag_, core::ContextOffset::collective),
          *comm, &request));
      break;
    case Schedule::Kind::receive: {
      const int result =
          core::start_receive(core::receive_of(step.to.buffer, step.to.count, *step.to.type,
                                               step.peer, tag_, core::ContextOffset::collective),
                              *comm, &request, true);
      if (result == MPI_ERR_NO_MEM) {
        if (starves_ == nullptr) {
          starves_ = std::make_shared<match::Memory::Starves>(self().engine->memory);
        }
        return false;
      }
      starves_.reset();
      note(result);
      break;
    }
    case Schedule::Kind::fence:
      break;
    case Schedule::Kind::copy:
      if (!in_vain) {
        note(copy_own(step.from, step.to));
      }
      break;
    case Schedule::Kind::reduce:
      if (step.to.count > 0) {
        note(
            reduce_local(*step.op, step.from.buffer, step.to.buffer, step.to.count, *step.to.type));
      }
      break;
    case Schedule::Kind::call:
      if (!in_vain) {
        schedule_->calls_[static_cast<std::size_t>(step.peer)]();
      }
      break;
  }
  if (request != nullptr) {
    under_way_.push_back(request);
  }
  return true;
}

void ScheduleRequest::note(int error) {
  if (this->error == MPI_SUCCESS) {
    this->error = error;
  }
}

// Which sleeper its messages ring: coll/schedule/progress.h.

int ScheduleRequest::arm(node::Waiter& waiter) {
  waiters_.push_back(&waiter);
  return arm_messages(waiter);
}

void ScheduleRequest::disarm(node::Waiter& waiter) {
  if (std::erase(waiters_, &waiter) != 0) {
    disarm_messages(waiter);
  }
}

bool ScheduleRequest::arm_in_background(node::Waiter& heir) {
  if (!waiters_.empty()) {
    hand_over(heir);
    return false;
  }
  arm_messages(heir);
  return true;
}

void ScheduleRequest::disarm_in_background(node::Waiter& heir) {
  if (waiters_.empty()) {
    disarm_messages(heir);
  }
}

/// Any message rings whom it is handed to: he may have counted on other ones.
void ScheduleRequest::hand_over(node::Waiter& heir) {
  if (!unattended_) {
    return;
  }
  node::Waiter& sleeper = waiters_.empty() ? heir : *waiters_.back();
  wait::expect(sleeper, 1);
  if (arm_messages(sleeper) < static_cast<int>(under_way_.size())) {
    wait::ring(sleeper);  // one is over already
  }
}

int ScheduleRequest::arm_messages(node::Waiter& waiter) {
  const match::ArmingForRank for_rank;
  int leaves = 0;
  for (Request* request : under_way_) {
    leaves += request->arm(waiter);
  }
  unattended_ = false;
  return leaves + (starves_ != nullptr ? 1 : 0);  // it cannot go on by itself
}

void ScheduleRequest::disarm_messages(node::Waiter& waiter) {
  for (Request* request : under_way_) {
    request->disarm(waiter);
  }
  leave_unattended();
}

void ScheduleRequest::leave_unattended() {
  unattended_ = true;
  self().unattended = true;
}

void ScheduleRequest::describe(wait::Situation& situation) const {
  situation.context = comm->context;
  situation.policy = comm->waiting.get();
  situation.name = comm->name.empty() ? &comm->origin : &comm->name;
  if (!under_way_.empty()) {
    under_way_.front()->describe(situation);
  }
}

wait::Channel ScheduleRequest::channel() const {
  return under_way_.empty() ? went_ : under_way_.front()->channel();
}

}  // namespace meantime::coll
