// Messages to and from ranks of other nodes (src/net). The matching stays ours: what arrives
// becomes a Message in a cell of this rank's, its origin the rank of another node, and goes to the
// mailbox as if a neighbour had pushed it.
//   eager     the payload comes along, into the cell. Its sender counts it as credit, until the
//             receiver returns that: with what it sends itself, or when it owes a fair part
//   beyond    credit: a short one. It is offered from a copy, and its sender waits for credit, but
//             not for ever: where nothing is read for limits.overflow_after_ns its send is over, as
//             inside a node (match/overflow.cpp), up to limits.most_credit
//   offered   long, synchronous, or beyond credit: the payload stays with its sender until there is
//             a match, then it is fetched to where the user wants it. Its cell is the receiver's,
//             so the Transfer in it begins `orphaned`
//   number    of each message from one rank to another: they are taken in this order, whichever way
//             they came
//   held      arrived, but not taken yet: an earlier one is still under way, or there is no memory
//             for it. Bounded by the senders' credit
// Private to the rank, its lock held; or to who has entered it (net/network.h), which is its lock,
// too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "match/transitions.h"
#include "match/ways/way.h"
#include "net/network.h"

namespace meantime::match {

class Matcher;
class Sends;

class Remote final : public Way, public net::Receiver {
 public:
  Remote(Ground& ground, Cells& cells, Transitions& transitions, Matcher& matcher, Sends& sends,
         net::Network& network);
  ~Remote();

  /// False: it lacks credit, and waits. Else it is done, or will be.
  bool send(LocalSend& send, Peer& to);

  First begin(Message& message, Receive& receive) override;
  void receive(Message& message, Receive& receive) override;
  void send(Message& /*message*/) override {}  // who sends is elsewhere
  bool progress() override;

  /// A message of that rank's is out of its cell.
  void owe_credit(std::uint32_t origin, std::size_t payload);
  bool lacks_memory() const { return lacks_memory_ && !held_.empty(); }
  bool awaits_credit() const { return !beyond_.empty(); }
  /// What others could not hand over while the rank was in MPI.
  bool has_queued() const { return network_.has_queued(ground_.rank.world_rank); }
  bool take_queued() { return network_.take_queued(ground_.rank.world_rank); }
  /// Something that was sent is still here, even if its send is over.
  bool may_be_fetched() const { return under_way_ != 0; }
  /// A message from here or to here is not over.
  bool is_under_way() const {
    return under_way_ != unread_ || fetching_ != 0 || !held_.empty() || !beyond_.empty();
  }
  /// What has come so far, and been fetched.
  struct Moved {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
  };
  const Moved& moved() const { return moved_; }
  /// From here on the network rings. False: something has come meanwhile.
  bool prepare_sleep();
  /// Others may take in what comes for it, from now on or no more.
  void open();
  void close();
  /// Others may end from now on, and credit is worth nothing any more.
  void expect_ends() { expects_ends_ = true; }
  /// All that this rank has sent is over, and all that it wanted is here: those that it has to do
  /// with may end. What was sent is out when this returns, or somebody is gone.
  void say_goodbye();
  /// Those have said so, too: nothing comes any more but offers that nobody has to fetch. (What
  /// came and was not read would make the kernel reset the connection at this process's end, and
  /// what it has sent could be lost.)
  bool all_said_goodbye() const;
  /// What others have not read yet they can read only as long as this rank is there.
  bool has_unread() const { return unread_ != 0; }
  void come_back();

  // Of net::Receiver.
  // (Clang sees the two apart: one takes the rank's lock, the other lets go of it.)
  bool try_enter() override MEANTIME_NO_LOCK_ANALYSIS;
  void leave(net::Poller poller) override MEANTIME_NO_LOCK_ANALYSIS;
  bool may_compute_meanwhile() override;
  void arrived(const void* header, std::size_t header_bytes, const void* payload,
               std::size_t bytes) override;
  bool offered(const void* header, std::size_t header_bytes, void* payload,
               std::size_t bytes) override;
  void lost(int world_rank, const char* problem) override;

  /// Ends the job, with one line. Set by the core.
  static void (*give_up)(int world_rank, const char* problem);

 private:
  enum class Kind : std::uint32_t { message, credit, goodbye };

  /// What goes before each payload. Both sides are of the same version and byte order.
  struct Header : net::Heading {
    Envelope envelope;
    Kind kind;
    std::uint32_t number;
    std::uint32_t credit;  ///< that its sender owed
    std::uint64_t bytes;   ///< of the message
  };

  struct Held {
    Header header;
    void* offer;  ///< of one that is offered; else it has
    std::vector<char> payload;
  };

  class Sending;
  class Fetching;

  bool is_far() const;
  static std::size_t credit_for(std::size_t payload);
  Sending& fresh_sending();
  bool hand_over(Sending& sending, const void* payload, std::size_t bytes, bool offer);
  void say(int world_rank, Kind kind);
  bool check_beyond();
  bool return_credit();
  void tell_goodbye(int world_rank);
  bool is_header(const void* bytes, std::size_t count, Header& header);
  void take_credit(const Header& header);
  void heard(const Header& header, const void* payload, void* offer);
  bool take(const Header& header, const void* payload, void* offer);
  bool take_held(std::uint32_t origin);
  void fetched(Message& message, Receive& receive);

  Ground& ground_;
  node::Traffic& traffic_;
  Cells& cells_;
  Transitions& transitions_;
  Matcher& matcher_;
  Sends& sends_;
  net::Network& network_;

  std::map<std::pair<std::uint32_t, std::uint32_t>, Held> held_;  ///< by origin and number
  std::vector<std::unique_ptr<Sending>> spare_;
  std::vector<Sending*> beyond_;  ///< credit
  std::size_t under_way_ = 0;
  std::size_t unread_ = 0;  ///< of those
  std::size_t fetching_ = 0;
  Moved moved_;
  std::uint64_t events_ = 0;  ///< that were about this rank
  Moved before_entry_;
  std::vector<int> creditors_;  ///< world ranks that much credit is owed to
  bool lacks_memory_ = false;
  bool expects_ends_ = false;
  bool says_goodbye_ = false;
};

}  // namespace meantime::match
