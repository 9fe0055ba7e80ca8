// The network of this process: bytes to and from processes of other nodes, by UCX's active
// messages. Knows ranks as addresses, and nothing of MPI.
//   message   a header, and a payload that either comes with it (eager) or, offered, stays with its
//             sender until the receiver fetches it to where it wants it
//   operation what UCX has under way: it tells its owner once, within `progress`, that it is over
//   efd       a descriptor that becomes readable with the next event after `arm`
// One thread at a time. A connection is made when it is first sent to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace meantime::net {

class Operation {
 public:
  /// `problem`: nullptr, or what has failed. It may be gone when this returns.
  virtual void over(const char* problem) = 0;

 protected:
  ~Operation() = default;
};

/// Who takes what arrives, within `progress`.
class Receiver {
 public:
  virtual void arrived(const void* header, std::size_t header_bytes, const void* payload,
                       std::size_t bytes) = 0;
  /// `payload` is to be fetched, once, at any time; or the answer is false: it is not wanted.
  virtual bool offered(const void* header, std::size_t header_bytes, void* payload,
                       std::size_t bytes) = 0;
  /// Nothing goes to that rank any more, and what was under way to it may not have come.
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
  /// By which others find this process; bytes.
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
  /// Before anything is sent to it, so that its end is noticed.
  void connect(int world_rank);
  /// It has been sent to.
  bool is_connected(int world_rank) const;

  void set_receiver(Receiver& receiver) { receiver_ = &receiver; }
  /// Header and payload must stay as they are until it is `now`, or the operation over.
  Sent send(int world_rank, const void* header, std::size_t header_bytes, const void* payload,
            std::size_t bytes, bool offer, Operation& operation);
  Sent fetch(void* payload, void* to, std::size_t bytes, Operation& operation);
  /// True if anything moved.
  bool progress();

  int efd() const { return efd_; }
  /// False: something is there already, so progress first.
  bool arm();

  /// Of the last `failed`.
  const std::string& problem() const { return problem_; }

  struct Parts;  ///< UCX's

 private:
  friend struct Parts;
  Sent outcome(void* request);

  std::unique_ptr<Parts> parts_;
  Receiver* receiver_ = nullptr;
  std::string address_;
  std::string problem_;
  std::vector<int> nodes_;
  std::vector<std::string> addresses_;
  int node_count_ = 1;
  int own_node_ = 0;
  int efd_ = -1;
};

namespace detail {
extern constinit Network* host_network;
}

/// This process's, if its job has several nodes; else nullptr. Set before the first engine is made.
inline Network* network() {
  return detail::host_network;
}

}  // namespace meantime::net
