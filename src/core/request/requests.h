// The requests of point-to-point operations and of the user's own (generalised).
// All of this is private to the rank; its lock is held.
#pragma once

#include <vector>

#include "core/datatype/datatype.h"
#include "core/request/point_to_point.h"
#include "core/request/request.h"
#include "match/engine.h"

namespace meantime::core {

/// `source`: of a send its own rank, of a receive whom it is from.
inline match::Envelope envelope_of(const Operation& operation, int source,
                                   const Communicator& comm) {
  return {comm.context | static_cast<std::uint32_t>(operation.context_offset), source,
          operation.tag};
}

struct SendRequest final : Request, match::LocalSend {
  using Request::error;
  using Request::source;
  using Request::tag;
  SendRequest(const Operation& operation, Communicator& comm);
  ~SendRequest() override;

  /// `tried`: send_eagerly has been. Returns an MPI error class.
  int begin(bool tried = false);
  bool advance() override;
  int arm(node::Waiter& waiter) override;
  void disarm(node::Waiter& waiter) override;
  void describe(wait::Situation& situation) const override;
  wait::Channel channel() const override;
  int start() override;
  int cancel() override;

  Operation operation;
  bool of_blocking_call = false;
  char* own_copy = nullptr;  ///< of a buffered send; freed by the request
};

struct ReceiveRequest final : Request, match::LocalReceive {
  using Request::source;
  using Request::tag;
  ReceiveRequest(const Operation& operation, Communicator& comm);
  ~ReceiveRequest() override;

  int begin();
  /// Receives what a matched probe or a catch took out of the queue.
  int begin_probed(match::Message& message);
  bool advance() override;
  int arm(node::Waiter& waiter) override;
  void disarm(node::Waiter& waiter) override;
  void describe(wait::Situation& situation) const override;
  wait::Channel channel() const override;
  int start() override;
  int cancel() override;

  Operation operation;
  bool in_background = false;  ///< begun within progress: cannot wait for memory

 private:
  int prepare();
  void take_results();
};

/// The user says when it is complete (MPI 5.0, 13.2).
struct GeneralizedRequest final : Request {
  GeneralizedRequest(MPI_Grequest_query_function* query, MPI_Grequest_free_function* free,
                     MPI_Grequest_cancel_function* cancel, void* state);
  ~GeneralizedRequest() override;

  void complete_by_user();
  bool advance() override;
  int arm(node::Waiter& waiter) override;
  void disarm(node::Waiter& waiter) override;
  void describe(wait::Situation& situation) const override;
  int cancel() override;
  /// Asks the user's function for the status. Once, when the request is completed.
  void query(MPI_Status* status);
  /// The user's function frees the state; its error belongs to the call that completes the request.
  int free_state();

 private:
  MPI_Grequest_query_function* query_;
  MPI_Grequest_free_function* free_;
  MPI_Grequest_cancel_function* cancel_;
  void* state_;
  std::atomic<bool> done_{false};
  node::Waiter* waiter_ = nullptr;
};

/// Several requests that look like one (MPI_Isendrecv). Owns them.
struct BundleRequest final : Request {
  BundleRequest(std::vector<Request*> parts, Communicator& comm);
  ~BundleRequest() override;

  bool advance() override;
  int arm(node::Waiter& waiter) override;
  void disarm(node::Waiter& waiter) override;
  void describe(wait::Situation& situation) const override;
  wait::Channel channel() const override;

  void* scratch = nullptr;  ///< freed with it

 private:
  std::vector<Request*> parts_;
};

/// The engine's hooks to pack and unpack.
extern const match::Typed typed;

/// Whether a message from that rank of the communicator, or MPI_ANY_SOURCE, may be one from another
/// node, as far as can be told at once.
bool may_come_from_elsewhere(int source, const Communicator& comm);

/// A request that was complete from the start (small sends): one for all, never freed.
extern Request* const completed_send;

}  // namespace meantime::core
