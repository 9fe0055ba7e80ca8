// Where the segment is full: whoever can go on with what is free somewhere goes on.
//   free      in no message, receive or collective: in a pool, or an empty cell. A rank that has
//             nothing to do (Memory::let_go) keeps none while others lack some
//   wanting   a rank that has looked through all that is free in its own hands, and among what
//             others gave up, and lacks memory for a message, a pipe or a collective (Starves). It
//             says so in the header, wakes everybody once, and naps (starving(), park.cpp); each
//             nap ends with a look
//   given up  what others give up for these. Who wants takes all of it, and gives up what is left
//             over before it naps or sleeps itself: two that want in turn do not keep each other
//             from it
//
// Why no free memory is overlooked for good.
//   A sleeper: it arms, then looks at `wanting`, and gives up what it has if somebody wants. Who
// wants counts itself in, then rings all. Both are sequentially consistent, so either the sleeper's
// look sees the count, or the ring finds the sleeper, as with any doorbell (sleep/doorbell.h); then
// it comes by that look again before it goes on sleeping.
//   Where another thread of the sleeper's rank is awake in a wait, progressing, the ring wakes
// nobody (sleep/progressing.h), and one that naps may be signalled in the sleeper's place: each
// looks at `wanting` before it sleeps itself or leaves its wait, after it has ceased to be there.
// So again one of the two sees the other.
//   What comes back to a sleeper: whoever returns a cell or delivers a message does that, then
// looks at `wanting`, and rings the owner if somebody wants. Again one of the two sees the other:
// if that look misses the count, the ring of all comes later, and the owner, signalled, finds what
// came back.
//   What comes back to a rank that has left MPI: who wants fetches it (cells.cpp). Nobody is
// signalled for that, but each nap ends with a look.
//   What a rank keeps until others have read it (Depositor): it is looked for whenever the rank
// gives up what it has. Whoever has read some says so, looks at `wanting`, and rings all members
// (Meeting::leave). If that look misses the count, the ring of all comes later.
//   What lies unread in a mailbox: its owner spills it (match/spilled.h) with each such look, and
// naps while more of it could go; who adds to the unexpected messages of another rank then looks at
// `wanting`, and rings the owner.
//   What lies in its cell and has a receive: that is on its owner's attention list, who fetches it
// before each look. Who makes a match for another rank then looks at `wanting`, and rings it.
//   A rank that computes gives nothing up. It is awake, so nobody is told that memory is full.
//   Who wants is signalled by those who give up and do not want themselves: a help only, it naps.
// (Two that want do not ring each other, or they would hand the same pieces to and fro for ever.)
#pragma once

#include "match/cells.h"
#include "match/ground.h"

namespace meantime::match {

class Sends;

/// Has given others memory of the rank's to read, and looks whether they have only when it needs
/// some itself.
class Depositor {
 public:
  /// To the pool, what is read.
  virtual void take_back() = 0;

 protected:
  ~Depositor() = default;
};

class Memory {
 public:
  Memory(Ground& ground, Cells& cells, Sends& sends)
      : ground_(ground), cells_(cells), sends_(sends) {}
  void prepare();

  /// Shared memory for whatever, to be given back to the pool; 0: the segment is full, and this
  /// rank has nothing that is free.
  Link find(std::size_t bytes) {
    const Link place = ground_.pool.allocate(bytes);
    return place != 0 ? place : search(bytes);
  }
  /// The same where the pool has been asked. Not with a match lock held: the search may take long,
  /// others would be woken for what this rank can do without, and they could not match meanwhile.
  Link search(std::size_t bytes);

  Receive* take_receive() {
    Link place = 0;
    if (spare_receive_count_ > last_spare_receives) [[likely]] {
      place = spare_receives_[--spare_receive_count_];
    } else if (place = ground_.pool.allocate(sizeof(Receive)); place == 0) {
      place = spare_receive_count_ != 0 ? spare_receives_[--spare_receive_count_]
                                        : search(sizeof(Receive));
    }
    return place != 0 ? ground_.segment.at<Receive>(place) : nullptr;
  }
  void release(Receive& receive) {
    const Link place = ground_.segment.link(&receive);
    if (spare_receive_count_ < most_spare_receives) [[likely]] {
      spare_receives_[spare_receive_count_++] = place;
    } else {
      ground_.pool.release(place, sizeof(Receive));
    }
  }

  /// While it lives, its rank waits for memory.
  class Starves {
   public:
    explicit Starves(Memory& memory) : memory_(memory) { ++memory_.lacking_; }
    ~Starves() { --memory_.lacking_; }
    Starves(const Starves&) = delete;
    Starves& operator=(const Starves&) = delete;

   private:
    Memory& memory_;
  };
  bool is_lacking() const { return lacking_ != 0; }
  bool is_wanting() const { return wanting_; }
  /// No rank keeps what nobody needs any more: this one takes it back, the others as they come by.
  void reclaim() {
    gather_free();
    want();
  }
  void end_want();

  /// With nothing to do but to sleep, armed, or to poll: of what others may lack. True if somebody
  /// lacks memory, be it this rank.
  bool let_go();
  /// All that is free.
  void give_up();
  /// A help: they look themselves after each nap.
  void ring_who_wants();

  Depositor* depositor = nullptr;  ///< as long as it lives

 private:
  void gather_free();
  void want();

  Ground& ground_;
  Cells& cells_;
  Sends& sends_;
  std::size_t lacking_ = 0;  ///< calls that wait for memory
  bool wanting_ = false;

  /// The last of them are for when there is no other memory: a rank must be able to receive what
  /// fills the segment. The others are quicker to take than from the pool.
  static constexpr std::size_t last_spare_receives = 8;
  static constexpr std::size_t most_spare_receives = last_spare_receives + 64;
  Link spare_receives_[most_spare_receives];
  std::size_t spare_receive_count_ = 0;
};

}  // namespace meantime::match
