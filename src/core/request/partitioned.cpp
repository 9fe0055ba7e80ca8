#include "core/request/partitioned.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "core/error/error.h"
#include "core/request/ending.h"
#include "match/engine.h"
#include "rank/rank.h"
#include "sleep/doorbell.h"
#include "wait/wait.h"

namespace meantime::core {
namespace {

char* begin_of(const Operation& operation, MPI_Count elements) {
  return static_cast<char*>(operation.buffer) + elements * operation.type->extent;
}

/// Tags of partitions: as many as a sender's message has, then from 0 again. A channel could meet
/// an old one only after 2³¹ further partitions were made beside it.
int tag_of(std::uint32_t channel, std::size_t part) {
  constexpr std::uint32_t tags = std::uint32_t{1} << 31;
  return static_cast<int>((channel + static_cast<std::uint32_t>(part)) % tags);
}

}  // namespace

// --- both sides

PartitionedRequest::PartitionedRequest(Type type, const Operation& operation, int partitions,
                                       Communicator& communicator)
    : Request(type), operation_(operation), partitions_(partitions) {
  comm = hold(communicator);
  hold(*operation_.type);
  persistent = true;
  active = false;
}

PartitionedRequest::~PartitionedRequest() {
  for (const Part& part : under_way_) {
    delete part.request;
  }
  drop(operation_.type);
}

void PartitionedRequest::begin_round() {
  active = true;
  complete = false;
  // Who found it complete just after arming has not disarmed: signalled, he would wake in vain.
  sleepers_.clear();
  error = MPI_SUCCESS;
  bytes = 0;
  source = MPI_ANY_SOURCE;
  tag = MPI_ANY_TAG;
}

void PartitionedRequest::note(int result) {
  if (error == MPI_SUCCESS) {
    error = result;
  }
}

bool PartitionedRequest::advance() {
  if (!active || complete) {
    return complete;
  }
  std::size_t left = 0;
  for (const Part& part : under_way_) {
    if (part.request->advance()) {
      note(part.request->error);
      went_ = part.request->channel();
      part_is_over(part);
      delete part.request;
    } else {
      under_way_[left++] = part;
    }
  }
  under_way_.resize(left);
  if (left == 0) {
    none_under_way();
  }
  return complete;
}

// A message rings one sleeper only, the last that armed it. Whoever starts more of them, or leaves,
// rings all who sleep for this request: they look again, and arm.
int PartitionedRequest::arm(node::Waiter& waiter) {
  sleepers_.push_back(&waiter);
  int leaves = waits_for_more() ? 1 : 0;
  for (const Part& part : under_way_) {
    leaves += part.request->arm(waiter);
  }
  return leaves;
}

void PartitionedRequest::disarm(node::Waiter& waiter) {
  const auto found = std::find(sleepers_.begin(), sleepers_.end(), &waiter);
  if (found == sleepers_.end()) {
    return;
  }
  sleepers_.erase(found);
  for (const Part& part : under_way_) {
    part.request->disarm(waiter);
  }
  ring_sleepers();
}

void PartitionedRequest::ring_sleepers() {
  for (node::Waiter* sleeper : sleepers_) {
    wait::ring(*sleeper);
  }
}

void PartitionedRequest::describe(wait::Situation& situation) const {
  comm->describe(operation_.peer, operation_.tag, situation);
  situation.bytes =
      static_cast<std::uint64_t>(operation_.count * operation_.type->size) * partitions_;
}

wait::Channel PartitionedRequest::channel() const {
  return under_way_.empty() ? went_ : under_way_.front().request->channel();
}

// --- send

PartitionedSend::PartitionedSend(const Operation& operation, int partitions,
                                 Communicator& communicator)
    : PartitionedRequest(Type::partitioned_send, operation, partitions, communicator),
      channel_(self().partitioned_channels),
      ready_(static_cast<std::size_t>(partitions)) {
  self().partitioned_channels += static_cast<std::uint32_t>(partitions);
}

PartitionedSend::~PartitionedSend() = default;

int PartitionedSend::announce() {
  if (operation_.peer == MPI_PROC_NULL) {
    return MPI_SUCCESS;
  }
  const PartitionedReceive::Offer offer{channel_, partitions_,
                                        operation_.count * operation_.type->size};
  void* copy = std::malloc(sizeof offer);
  if (copy == nullptr) {
    return fail(MPI_ERR_NO_MEM, "no memory for a partitioned send");
  }
  std::memcpy(copy, &offer, sizeof offer);
  auto* send = new SendRequest({copy, sizeof offer, resolve(MPI_BYTE), operation_.peer,
                                operation_.tag, ContextOffset::partitioned_offer, Mode::standard},
                               *comm);
  send->own_copy = static_cast<char*>(copy);
  if (const int result = send->begin(); result != MPI_SUCCESS) {
    delete send;
    return result;
  }
  abandon(send);  // it goes its own way, even if this request is freed before
  return MPI_SUCCESS;
}

int PartitionedSend::start() {
  begin_round();
  std::fill(ready_.begin(), ready_.end(), false);
  not_ready_ = partitions_;
  // Only MPI_Pready starts anything, and another thread may call it while this one sleeps.
  composed = true;
  if (partitions_ == 0) {
    complete = true;
  }
  return MPI_SUCCESS;
}

int PartitionedSend::ready(int first, int last) {
  for (int partition = first; partition <= last; ++partition) {
    const auto part = static_cast<std::size_t>(partition);
    if (ready_[part]) {
      return fail(MPI_ERR_ARG, "partition {} is ready already", partition);
    }
    ready_[part] = true;
    --not_ready_;
    if (operation_.peer == MPI_PROC_NULL) {
      continue;
    }
    Request* request = nullptr;
    const int result = start_send(send_of(begin_of(operation_, partition * operation_.count),
                                          operation_.count, *operation_.type, operation_.peer,
                                          tag_of(channel_, part), ContextOffset::partitioned_data),
                                  *comm, &request);
    if (result != MPI_SUCCESS) {
      return result;
    }
    if (request != nullptr) {
      under_way_.push_back({request, part});
    }
  }
  composed = not_ready_ > 0;
  if (!composed && under_way_.empty()) {
    none_under_way();
  }
  ring_sleepers();
  return MPI_SUCCESS;
}

void PartitionedSend::part_is_over(const Part&) {}

void PartitionedSend::none_under_way() {
  complete = not_ready_ == 0;
}

// --- receive

PartitionedReceive::PartitionedReceive(const Operation& operation, int partitions,
                                       Communicator& communicator)
    : PartitionedRequest(Type::partitioned_receive, operation, partitions, communicator) {}

PartitionedReceive::~PartitionedReceive() {
  std::erase(self().unmatched, this);
  if (offer_request_ != nullptr) {
    offer_request_->cancel();
    finish(offer_request_, MPI_STATUS_IGNORE);
  }
}

int PartitionedReceive::listen() {
  if (operation_.peer == MPI_PROC_NULL) {
    return MPI_SUCCESS;
  }
  return start_receive(receive_of(&offer_, sizeof offer_, *resolve(MPI_BYTE), operation_.peer,
                                  operation_.tag, ContextOffset::partitioned_offer),
                       *comm, &offer_request_);
}

int PartitionedReceive::start() {
  begin_round();
  source = operation_.peer;
  tag = operation_.tag;
  if (operation_.peer == MPI_PROC_NULL) {
    tag = MPI_ANY_TAG;
    complete = true;
    return MPI_SUCCESS;
  }
  if (offer_request_ == nullptr) {
    begin_to_post();
    post_rest();
  }
  if (waits_for_more()) {
    composed = true;
    self().unmatched.push_back(this);
    self().unattended = true;
  }
  return MPI_SUCCESS;
}

bool PartitionedReceive::outlive_handle() {
  if (offer_request_ == nullptr || offer_request_->advance()) {
    return false;
  }
  wants_offer_only_ = true;
  start();
  return true;
}

bool PartitionedReceive::meet() {
  if (offer_request_ != nullptr) {
    if (!offer_request_->advance()) {
      return false;
    }
    note(offer_request_->error);
    delete offer_request_;
    offer_request_ = nullptr;
    heir_ = nullptr;
    if (wants_offer_only_) {
      std::erase(self().unmatched, this);
      complete = true;
      return true;
    }
    begin_to_post();
    post_rest();
    return true;
  }
  return post_rest();
}

void PartitionedReceive::begin_to_post() {
  const auto parts = static_cast<std::size_t>(offer_.partitions);
  arrived_.assign(parts, false);
  staged_.clear();
  staged_.resize(parts);
  under_way_.reserve(parts);
  posted_ = 0;
}

// Where there is no memory for a receive now the rank naps, and tries again at each look: the other
// side may need it to be posted.
bool PartitionedReceive::post_rest() {
  const std::size_t before = posted_;
  while (posted_ < arrived_.size() && post(posted_)) {
    ++posted_;
  }
  if (posted_ < arrived_.size()) {
    if (starves_ == nullptr) {
      starves_ = std::make_shared<match::Memory::Starves>(self().engine->memory);
      self().unattended = true;  // who sleeps for whatever shall nap
    }
  } else {
    starves_.reset();
    std::erase(self().unmatched, this);
    composed = false;
  }
  if (posted_ != before) {
    ring_sleepers();
  }
  return posted_ != before;
}

/// False: there is no memory for it.
bool PartitionedReceive::post(std::size_t part) {
  const MPI_Count element = operation_.type->size;
  const MPI_Count room = operation_.count * element * partitions_;
  const MPI_Count offset = std::min(room, static_cast<MPI_Count>(part) * offer_.bytes);
  const MPI_Count expected = std::min(offer_.bytes, room - offset);
  Request* request = nullptr;
  int result = MPI_SUCCESS;
  if (expected == 0 || (offset % element == 0 && expected % element == 0)) {
    const MPI_Count first = expected == 0 ? 0 : offset / element;
    const MPI_Count count = expected == 0 ? 0 : expected / element;
    result = start_receive(
        receive_of(begin_of(operation_, first), count, *operation_.type, operation_.peer,
                   tag_of(offer_.channel, part), ContextOffset::partitioned_data),
        *comm, &request, true);
  } else {
    staged_[part].reset(new char[static_cast<std::size_t>(expected)]);
    result =
        start_receive(receive_of(staged_[part].get(), expected, *resolve(MPI_BYTE), operation_.peer,
                                 tag_of(offer_.channel, part), ContextOffset::partitioned_data),
                      *comm, &request, true);
  }
  if (result == MPI_ERR_NO_MEM) {
    return false;
  }
  note(result);
  if (request != nullptr) {
    under_way_.push_back({request, part});
  }
  return true;
}

bool PartitionedReceive::advance() {
  if (active && !complete && waits_for_more() && !meet() && offer_request_ != nullptr) {
    return false;
  }
  return PartitionedRequest::advance();
}

void PartitionedReceive::part_is_over(const Part& part) {
  bytes += part.request->bytes;
  arrived_[part.index] = true;
  if (const std::unique_ptr<char[]>& staged = staged_[part.index]; staged != nullptr) {
    unpack(operation_.buffer, operation_.count * partitions_, *operation_.type,
           part.index * static_cast<std::size_t>(offer_.bytes), staged.get(),
           static_cast<std::size_t>(part.request->bytes));
  }
}

void PartitionedReceive::none_under_way() {
  complete = !waits_for_more();
}

bool PartitionedReceive::arrived(int partition) {
  if (!active || advance()) {
    return true;
  }
  if (offer_request_ != nullptr) {
    return false;
  }
  if (offer_.partitions == partitions_) {
    return arrived_[static_cast<std::size_t>(partition)];
  }
  const MPI_Count bytes_each = operation_.count * operation_.type->size;
  const MPI_Count begin = partition * bytes_each;
  if (bytes_each == 0 || offer_.bytes == 0) {
    return false;  // of no data, only all together can have arrived
  }
  const auto first = static_cast<std::size_t>(begin / offer_.bytes);
  const auto last = static_cast<std::size_t>((begin + bytes_each - 1) / offer_.bytes);
  for (std::size_t part = first; part <= last && part < arrived_.size(); ++part) {
    if (!arrived_[part]) {
      return false;
    }
  }
  return true;
}

// Whoever sleeps for this request arms nothing of the offer: the heir may be another thread, and
// whoever finds the offer posts the receives and rings all who sleep for the request.

void PartitionedReceive::arm_offer(node::Waiter& waiter) {
  if (offer_request_ == nullptr) {
    return;  // it waits for memory, and its rank naps
  }
  const match::ArmingForRank for_rank;
  heir_ = &waiter;
  offer_request_->arm(waiter);
}

void PartitionedReceive::disarm_offer(node::Waiter& waiter) {
  if (heir_ == &waiter) {
    heir_ = nullptr;
    offer_request_->disarm(waiter);
    self().unattended = true;
  }
}

void PartitionedReceive::hand_over_offer(node::Waiter& waiter) {
  if (offer_request_ == nullptr || heir_ != nullptr) {
    return;  // he sleeps, or has been signalled and will disarm
  }
  const match::ArmingForRank for_rank;
  heir_ = &waiter;
  wait::expect(waiter, 1);  // for any: he may have counted on others
  if (offer_request_->arm(waiter) == 0) {
    wait::ring(waiter);  // it is here already
  }
}

bool advance_unmatched() {
  std::vector<PartitionedReceive*>& unmatched = self().unmatched;
  bool moved = false;
  // Who has met takes itself off the list.
  for (std::size_t index = unmatched.size(); index-- > 0;) {
    moved = unmatched[index]->meet() || moved;
  }
  return moved;
}

bool arm_unmatched(node::Waiter& waiter) {
  for (PartitionedReceive* receive : self().unmatched) {
    receive->arm_offer(waiter);
  }
  return !self().unmatched.empty();
}

void disarm_unmatched(node::Waiter& waiter) {
  for (PartitionedReceive* receive : self().unmatched) {
    receive->disarm_offer(waiter);
  }
}

void hand_over_unmatched(node::Waiter& heir) {
  for (PartitionedReceive* receive : self().unmatched) {
    receive->hand_over_offer(heir);
  }
}

}  // namespace meantime::core
