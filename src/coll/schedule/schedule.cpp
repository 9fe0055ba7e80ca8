#include "coll/schedule/schedule.h"

#include <algorithm>
#include <cstddef>
#include <memory>

#include "coll/elements.h"
#include "coll/schedule/progress.h"
#include "coll/state.h"
#include "core/error/error.h"
#include "core/request/point_to_point.h"
#include "core/request/progress.h"
#include "core/request/requests.h"
#include "match/engine.h"
#include "rank/rank.h"
#include "sleep/doorbell.h"
#include "wait/wait.h"

namespace meantime::coll {

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

void Schedule::add_send(const Piece& piece, int to, bool aside) {
  if (to != MPI_PROC_NULL) {
    steps_.push_back(
        {.kind = Kind::send, .peer = rank_of(to), .from = held(piece), .aside = aside});
  }
}

void Schedule::add_receive(const Piece& piece, std::size_t least, int from, bool aside) {
  if (from != MPI_PROC_NULL) {
    steps_.push_back({.kind = Kind::receive,
                      .peer = rank_of(from),
                      .to = held(piece),
                      .least = least,
                      .aside = aside});
  }
}

void Schedule::send(const Piece& piece, int to) {
  add_send(piece, to, false);
}

void Schedule::send(const Late& bytes, int to) {
  add_send({nullptr, 0, *resolve(MPI_BYTE)}, to, false);
  steps_.back().late = &bytes;
}

void Schedule::receive(const Piece& piece, int from) {
  add_receive(piece, piece.bytes(), from, false);
}

void Schedule::receive_up_to(const Piece& piece, std::size_t least, int from) {
  add_receive(piece, least, from, false);
}

void Schedule::send_aside(const Piece& piece, int to) {
  add_send(piece, to, true);
}

void Schedule::receive_aside(const Piece& piece, int from) {
  add_receive(piece, piece.bytes(), from, true);
}

void Schedule::fence() {
  if (!steps_.empty() && steps_.back().kind != Kind::fence) {
    steps_.push_back({.kind = Kind::fence});
  }
}

void Schedule::copy(const Piece& from, const Piece& to) {
  steps_.push_back({.kind = Kind::copy, .from = held(from), .to = held(to)});
}

void Schedule::reduce(const void* in, void* inout, MPI_Count count, Datatype& type, Op& op) {
  steps_.push_back({.kind = Kind::reduce,
                    .from = held({in, count, type}),
                    .to = held({inout, count, type}),
                    .op = hold(op)});
}

void Schedule::call(Call what) {
  steps_.push_back({.kind = Kind::call, .peer = static_cast<int>(calls_.size())});
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
  bool waits = false;
  for (const Message& message : under_way_) {
    Request* const request = message.request;
    if (request->advance()) {
      ++moved_;
      note(request->error);
      if (error == MPI_SUCCESS) {
        note(check_size(message));
      }
      went_ = request->channel();
      delete request;
    } else {
      waits |= awaits(message);
      under_way_[left++] = message;
    }
  }
  under_way_.resize(left);
  return !waits;
}

/// It cannot go on without it. Others ring nobody.
bool ScheduleRequest::awaits(const Message& message) const {
  return !message.step->aside || next_ == schedule_->steps_.size();
}

int ScheduleRequest::tag_of(const Schedule::Step& step) const {
  return tag_ + (step.aside ? State::for_asides : 0);
}

/// A collective says how much each rank gives (MPI 5.0, 6.1): less is an error, too.
int ScheduleRequest::check_size(const Message& message) {
  const Request& request = *message.request;
  return request.type == Request::Type::receive &&
                 static_cast<std::size_t>(request.bytes) < message.step->least
             ? fail(MPI_ERR_COUNT, "rank {} gave {} bytes where this rank expects {}",
                    request.source, request.bytes, message.step->least)
             : MPI_SUCCESS;
}

int ScheduleRequest::send(const Schedule::Step& step, bool in_vain, Request** request) {
  Piece piece = step.from;
  if (step.late != nullptr && !in_vain) {
    piece = {step.late->at, static_cast<MPI_Count>(step.late->bytes), *piece.type};
  }
  return core::start_send(core::send_of(piece.buffer, in_vain ? 0 : piece.count, *piece.type,
                                        step.peer, tag_of(step), core::ContextOffset::collective),
                          *comm, request);
}

int ScheduleRequest::call(const Schedule::Step& step) {
  Surprises surprises;
  const int error = schedule_->calls_[static_cast<std::size_t>(step.peer)](surprises);
  const std::vector<int>& absent = surprises.absent;
  for (const Message& message : under_way_) {
    const Schedule::Step& other = *message.step;
    if (other.aside && other.kind == Schedule::Kind::receive &&
        std::find(absent.begin(), absent.end(), other.peer) != absent.end()) {
      message.request->cancel();
    }
  }
  for (const int rank : surprises.unexpected) {
    Request* request = nullptr;
    core::start_receive(core::receive_of(nullptr, 0, *resolve(MPI_BYTE), rank,
                                         tag_ + State::for_asides, core::ContextOffset::collective),
                        *comm, &request, true);
    if (request != nullptr) {
      under_way_.push_back({request, &step});
    }
  }
  return error;
}

/// False: there is no memory for it now. Then the rank naps, and tries again at each look: what
/// comes after it, another rank's result even, needs this step.
bool ScheduleRequest::run(const Schedule::Step& step) {
  Request* request = nullptr;
  const bool in_vain = schedule_->passes_errors_on_ && error != MPI_SUCCESS;
  switch (step.kind) {
    case Schedule::Kind::send:
      note(send(step, in_vain, &request));
      break;
    case Schedule::Kind::receive: {
      const int result = core::start_receive(
          core::receive_of(step.to.buffer, step.to.count, *step.to.type, step.peer, tag_of(step),
                           core::ContextOffset::collective),
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
        note(call(step));
      }
      break;
  }
  if (request != nullptr) {
    under_way_.push_back({request, &step});
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
  const auto awaited = std::count_if(under_way_.begin(), under_way_.end(),
                                     [this](const Message& message) { return awaits(message); });
  if (arm_messages(sleeper) < awaited) {
    wait::ring(sleeper);  // one is over already
  }
}

int ScheduleRequest::arm_messages(node::Waiter& waiter) {
  const match::ArmingForRank for_rank;
  int leaves = 0;
  for (const Message& message : under_way_) {
    leaves += awaits(message) ? message.request->arm(waiter) : 0;
  }
  unattended_ = false;
  return leaves + (starves_ != nullptr ? 1 : 0);  // it cannot go on by itself
}

void ScheduleRequest::disarm_messages(node::Waiter& waiter) {
  for (const Message& message : under_way_) {
    message.request->disarm(waiter);
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
    under_way_.front().request->describe(situation);
  }
}

wait::Channel ScheduleRequest::channel() const {
  return under_way_.empty() ? went_ : under_way_.front().request->channel();
}

}  // namespace meantime::coll
