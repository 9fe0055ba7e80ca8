// Partitioned communication (MPI 5.0, chapter 4): a persistent message whose parts the user gives
// away, and looks for, one by one.
//   partition   of the sender or of the receiver; the two may cut the message differently
//   offer       what MPI_Psend_init sends at once: how the sender cuts the message, its channel.
//               It meets MPI_Precv_init's receive at a context offset of its own, with the user's
//               tag, so sends and receives match in the order in which they were made
//   channel     the first of the tags that the sender's partitions have at their context offset
// Each partition of the sender travels as an ordinary message, from MPI_Pready on, and round after
// round with the same tag: non-overtaking order keeps the rounds apart. The receiver posts one
// receive for each as soon as it is started and knows the offer. Until then the offer's arrival
// must be noticed whatever the rank waits for, because the sender may wait for its partitions to be
// received: such receives are in Rank::unmatched, and which of its sleeping threads is signalled
// for them is said in coll/schedule/progress.h. All functions: rank's lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/request/point_to_point.h"
#include "core/request/request.h"
#include "core/request/requests.h"

namespace meantime::core {

/// What both sides have in common: messages under way.
class PartitionedRequest : public Request {
 public:
  bool advance() override;
  int arm(node::Waiter& waiter) override;
  void disarm(node::Waiter& waiter) override;
  void describe(wait::Situation& situation) const override;
  wait::Channel channel() const override;

  int partitions() const { return partitions_; }

 protected:
  struct Part {
    Request* request;
    std::size_t index;
  };

  PartitionedRequest(Type type, const Operation& operation, int partitions, Communicator& comm);
  ~PartitionedRequest() override;

  /// A message is over; its request is gone afterwards.
  virtual void part_is_over(const Part& part) = 0;
  /// Completes the request if nothing is left to come; called with no message under way.
  virtual void none_under_way() = 0;
  /// What else has to happen that is no message under way: those who sleep are signalled for it.
  virtual bool waits_for_more() const = 0;

  void begin_round();
  void note(int error);
  /// Something was started that those who sleep for this request have not armed.
  void ring_sleepers();

  Operation operation_;  ///< count and buffer: of one partition, of the first
  int partitions_;
  std::vector<Part> under_way_;
  wait::Channel went_{};  ///< the last that is not any more

 private:
  std::vector<node::Waiter*> sleepers_;
};

class PartitionedSend final : public PartitionedRequest {
 public:
  PartitionedSend(const Operation& operation, int partitions, Communicator& comm);
  ~PartitionedSend() override;

  /// Sends the offer. Once, at first.
  int announce();
  int start() override;
  /// MPI_Pready for the partitions first … last, which exist. MPI_ERR_ARG if one is ready already.
  int ready(int first, int last);

 private:
  void part_is_over(const Part& part) override;
  void none_under_way() override;
  bool waits_for_more() const override { return not_ready_ > 0; }

  std::uint32_t channel_;
  std::vector<bool> ready_;
  int not_ready_ = 0;
};

class PartitionedReceive final : public PartitionedRequest {
 public:
  PartitionedReceive(const Operation& operation, int partitions, Communicator& comm);
  ~PartitionedReceive() override;

  /// Posts the receive of the offer. Once, at first.
  int listen();
  int start() override;
  bool advance() override;
  /// MPI_Request_free before it has met its send: it goes on until it has, for the offer is meant
  /// for it and not for a receive that is made later. False if there is nothing to wait for.
  bool outlive_handle();
  /// MPI_Parrived.
  bool arrived(int partition);

  /// Looks for the offer; once it is there, posts the receives of the round, all that there is
  /// memory for. True if anything moved.
  bool meet();

  // The offer's arrival rings the heir: coll/schedule/progress.h.
  void arm_offer(node::Waiter& waiter);
  void disarm_offer(node::Waiter& waiter);
  void hand_over_offer(node::Waiter& waiter);

 private:
  struct Offer {
    std::uint32_t channel;
    std::int32_t partitions;
    MPI_Count bytes;  ///< of one partition
  };
  friend class PartitionedSend;

  void part_is_over(const Part& part) override;
  void none_under_way() override;
  bool waits_for_more() const override {
    return offer_request_ != nullptr || posted_ < arrived_.size();
  }
  void begin_to_post();
  bool post_rest();
  bool post(std::size_t part);

  Offer offer_{};
  Request* offer_request_ = nullptr;  ///< until it has arrived
  bool wants_offer_only_ = false;     ///< see outlive_handle
  node::Waiter* heir_ = nullptr;      ///< the sleeper that it rings
  std::vector<bool> arrived_;         ///< by partition of the sender
  std::size_t posted_ = 0;            ///< of them have their receives
  std::shared_ptr<void> starves_;     ///< match::Memory::Starves, while others lack the memory
  /// Of partitions of the sender that do not begin and end with a whole element of the receiver.
  std::vector<std::unique_ptr<char[]>> staged_;
};

/// Looks after the receives that have not met their sends. True if one has.
bool advance_unmatched();
/// A thread that falls asleep, for whatever, is their heir. True if there are some.
bool arm_unmatched(node::Waiter& waiter);
void disarm_unmatched(node::Waiter& waiter);
void hand_over_unmatched(node::Waiter& heir);

}  // namespace meantime::core
