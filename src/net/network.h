// The network of this process: bytes to and from processes of other nodes, by UCX's active
// messages, for all of its ranks. Knows ranks as addresses, and nothing of MPI.
//   message   a header, which begins with a Heading, and a payload: it comes with it (eager), or is
//             offered, and stays with its sender until the receiver fetches it to where it wants it
//   token     a number by chance that is in a process's address, and in what is sent to it: so what
//             strangers send, who have only found its port, is dropped
//   receiver  a rank of this process: takes what arrives for it, and hears what is over
//   operation what UCX has under way: it tells its owner once that it is over
//   poller    who is in `progress`, one at a time. What is for its own rank it hands over at once,
//             and so what is for a rank that is not in MPI, or sleeps there, and lets itself be
//             entered: the poller is that rank for a moment. All else it queues
//   queue     of a receiver, which takes it when it comes to `progress` or leaves MPI, and is rung;
//             or who enters it next takes it. Nothing that comes later overtakes it
//   listening somebody is called with the next event (net/listener.h)
//   connection from a process to another, made when it is first sent by, for all of their ranks:
//             one for what is eager, in both directions, and in each one for what is offered. UCX
//             answers an offer by its connection, so the answer waits for nothing that its sender
//             offers itself (4 MiB each way at 100 Mbit/s: 0.35 s, by one connection up to 0.7, one
//             way after the other); nor does a short message wait for a long one
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/lock.h"
#include "net/listener.h"
#include "net/silence.h"

namespace meantime::net {

struct Heading {
  std::uint64_t token = 0;        ///< the network's
  std::uint32_t origin = 0;       ///< world rank …
  std::uint32_t destination = 0;  ///< … to which it goes
};

/// In whose time the network is polled.
enum class Poller : std::uint8_t {
  waits,  ///< a rank's in MPI, or a worker's with nothing to run
  helper  ///< a thread's that is called for it
};

class Operation {
 public:
  /// `problem`: nullptr, or what has failed. It may be gone when this returns.
  virtual void over(const char* problem) = 0;
  virtual int owner_rank() const = 0;

 protected:
  ~Operation() = default;
};

class Receiver {
 public:
  /// The caller is this rank until it leaves. False: the rank is busy in MPI itself.
  virtual bool try_enter() = 0;
  virtual void leave(Poller poller) = 0;
  /// It has something under way, and is not in a wait. Any thread, any time.
  virtual bool may_compute_meanwhile() = 0;

  virtual void arrived(const void* header, std::size_t header_bytes, const void* payload,
                       std::size_t bytes) = 0;
  /// `payload` is to be fetched, once, at any time; or the answer is false: it is not wanted.
  virtual bool offered(const void* header, std::size_t header_bytes, void* payload,
                       std::size_t bytes) = 0;
  /// Nothing goes to the process of that rank any more, and what was under way to it may not have
  /// come.
  virtual void lost(int world_rank, const char* problem) = 0;

 protected:
  ~Receiver() = default;
};

enum class Sent { now, under_way, failed };

class Network {
 public:
  Network();
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// Empty, or one line why there is no network.
  std::string open();
  /// By which others, to whom alone it is given, find this process; bytes.
  const std::string& address() const { return address_; }
  /// Of each world rank the node, as the first rank on it, and the address; empty: on this node.
  void set_peers(std::vector<int> nodes, std::vector<std::string> addresses);

  int ranks() const { return static_cast<int>(nodes_.size()); }
  int node_of(int world_rank) const { return nodes_[static_cast<std::size_t>(world_rank)]; }
  bool is_elsewhere(int world_rank) const {
    return !addresses_[static_cast<std::size_t>(world_rank)].empty();
  }
  /// How many nodes the job has, and which of them this one is, from 0.
  int nodes() const { return node_count_; }
  int node() const { return own_node_; }
  bool is_same_process(int world_rank, int other) const {
    return process_of(world_rank) == process_of(other);
  }

  /// From now on, and what has come before. `ring` wakes that rank if it sleeps.
  void take_for(int world_rank, Receiver& receiver);
  void take_no_more_for(int world_rank);
  /// To `header.destination`, which is connected to its origin when it comes. Header and payload
  /// must stay as they are until it is `now`, or the operation over.
  Sent send(Heading& header, std::size_t header_bytes, const void* payload, std::size_t bytes,
            bool offer, Operation& operation);
  Sent fetch(void* payload, void* to, std::size_t bytes, Operation& operation);
  /// As that rank; nullptr: as none of them. True if anything moved.
  bool progress(Receiver* as, Poller poller);
  bool has_queued(int world_rank) { return inbox(world_rank).any.load(std::memory_order_seq_cst); }
  /// Of what was queued for it. True if there was any. It has entered, or is the rank.
  bool take_queued(int world_rank) { return has_queued(world_rank) && take_queued_now(world_rank); }

  /// A connection of which nothing is heard for so long though something is due is lost.
  void bound_silence(double seconds);
  /// Called by the listener's thread: UCX waits in vain for a connection to that rank, and whoever
  /// called UCX waits in it.
  static void (*cannot_connect)(int world_rank, const char* problem);

  /// Of any rank here.
  bool any_may_compute_meanwhile();

  int efd() const { return efd_; }
  /// False: something is there already, so progress first.
  bool arm();
  /// The caller sleeps until the next event, which it hears itself. False: as `arm`. (Nobody rings
  /// it where another one's `arm` takes that event: a rank that hears itself has the only poller of
  /// its process as long as it sleeps.)
  bool arm_for_sleep();
  /// Somebody is called with the next event. False: as `arm`, or nobody can be.
  bool listen();
  /// Called: `listen` has to be asked again.
  void heard() { is_listening_.store(false, std::memory_order_seq_cst); }
  /// Before the first rank takes. `call` when something is heard, by a thread of the listener's.
  /// `threads`: of those that the process has for the network, who is not the program's.
  void prepare(void (*ring)(int world_rank), void (*call)(int argument), int argument,
               std::atomic<std::uint32_t>& threads);

  /// Of the last `failed`.
  const std::string& problem() const { return problem_; }
  /// Messages without the token, or for nobody here, so far.
  std::uint64_t strangers() const { return strangers_.load(std::memory_order_relaxed); }

  struct Parts;  ///< UCX's

 private:
  friend struct Parts;

  /// Something for a receiver.
  struct Arrival {
    enum class Kind : std::uint8_t { message, offer, operation, loss };
    Kind kind;
    const void* header = nullptr;
    std::size_t header_bytes = 0;
    void* payload = nullptr;  ///< or what UCX has of an offer
    std::size_t bytes = 0;
    Operation* operation = nullptr;
    const char* problem = nullptr;
    int lost = 0;
  };
  /// With all that it points at.
  struct Queued {
    explicit Queued(const Arrival& of);
    Arrival arrival();

    Arrival what;
    std::vector<char> header;
    std::vector<char> payload;
    std::string problem;
  };
  /// Of a process to which this one has no connection yet.
  struct FirstMessage {
    int origin;  ///< world rank …
    int destination;
    Queued message;
  };
  struct Inbox {
    std::atomic<bool> any{false};
    Receiver* receiver = nullptr;
    std::vector<Queued> queue;
  };

  Sent outcome(void* request);
  /// No memory for it is the end of the process, as in what UCX calls.
  void look_for_silence() noexcept;
  int process_of(int world_rank) const { return process_of_[static_cast<std::size_t>(world_rank)]; }
  Inbox& inbox(int world_rank) { return inboxes_[static_cast<std::size_t>(world_rank)]; }
  bool take_queued_now(int world_rank) noexcept;
  bool deliver(int world_rank, const Arrival& arrival);
  bool hand_over(int world_rank, const Arrival* arrival, bool& wanted);
  static bool give(Receiver& to, const Arrival& arrival);
  void refuse(void* offer);
  void take_first_messages() noexcept;

  std::unique_ptr<Parts> parts_;
  RecursiveMutex lock_;  ///< UCX's, the queues' and what else changes here; no rank's is waited for
  Receiver* polls_as_ = nullptr;
  Poller poller_ = Poller::waits;
  std::vector<Inbox> inboxes_;  ///< by world rank
  std::vector<FirstMessage> first_messages_;
  std::atomic<bool> is_listening_{false};
  std::unique_ptr<Listener> listener_;
  Silence silence_;
  std::uint32_t vain_turns_ = 0;
  std::atomic<int> connecting_to_{-1};  ///< UCX's call has not returned yet
  std::atomic<double> connecting_since_{0};
  void (*ring_)(int world_rank) = nullptr;
  std::uint64_t token_ = 0;
  std::atomic<std::uint64_t> strangers_{0};
  std::string address_;
  std::string problem_;
  std::vector<int> nodes_;
  std::vector<std::string> addresses_;  ///< with a token before each
  std::vector<int> process_of_;         ///< of each world rank the first one with its address
  int node_count_ = 1;
  int own_node_ = 0;
  int efd_ = -1;
  std::uint32_t threads_of_ucx_ = 0;
};

namespace detail {
extern constinit Network* host_network;
}

/// This process's, if its job has several nodes; else nullptr. Set before the first engine is made.
inline Network* network() {
  return detail::host_network;
}

}  // namespace meantime::net
