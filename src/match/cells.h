// The cells that eager messages and descriptions of others travel in. They are of their sender's
// pool; whoever has emptied one gives it back to its sender, which then counts it as its credit.
//   free      of this rank, by size: a power of two
//   emptied   of others, on their way back: in a turn in vain, or 32 at a time, for the stores to
//             lines of the sender would hold up the next message
//   carrier   a cell on its way back that says which others go with it
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "match/ground.h"

namespace meantime::match {

class Memory;

class Cells {
 public:
  Cells(Ground& ground, Memory& memory) : ground_(ground), memory_(memory) {}

  static std::size_t size_of(const Message& cell) { return std::size_t{1} << cell.size_class; }
  static int class_for(std::size_t bytes) {
    return std::max(7, static_cast<int>(std::bit_width(bytes - 1)));
  }

  /// nullptr: this rank has none, and its pool no memory for one.
  Message* take(int destination, std::size_t bytes);
  /// The same, or after a search of all memory; nullptr: there is none. No match lock held.
  Message* find(int destination, std::size_t bytes) {
    Message* const message = take(destination, bytes);
    return message != nullptr ? message : search(destination, bytes);
  }
  /// It is free: fresh memory, or nobody needs the message in it any more.
  void add(Message& cell) {
    Link& first = free_[cell.size_class];
    cell.next.store(first, std::memory_order_relaxed);
    first = ground_.segment.link(&cell);
  }
  void add_fresh(Link place, int size_class) {
    auto& cell = *ground_.segment.at<Message>(place);
    cell.size_class = static_cast<std::uint8_t>(size_class);
    add(cell);
  }

  /// The payload of an eager message is read.
  void give_back(Message& message);
  /// Notices of matches, which there was no cell for. (match/spilled.h)
  bool owes_notices() const { return !owed_.empty(); }
  /// No match lock held.
  void send_notices();
  /// What was given back goes.
  void flush() {
    if (emptied_count_ != 0) {
      flush_emptied();
    }
  }

  /// All that others have emptied.
  void take_back() {
    while (take_back_some()) {
    }
  }
  /// All that is free goes to the pool.
  void release_free();
  /// Of ranks that have left. They become this rank's. True if there were any.
  bool take_from_who_left();

  // The rank leaves MPI, and comes back.
  void leave();
  void come_back();

 private:
  Message* search(int destination, std::size_t bytes);
  bool take_back_some();
  void take_back_one(Message& cell);
  template <class Take>
  Link unload(Link link, Take take);
  void flush_emptied();

  Ground& ground_;
  Memory& memory_;

  struct Owed {
    int sender;  ///< world rank
    std::uint64_t send;
  };
  std::vector<Owed> owed_;

  static constexpr int classes = 24;
  Link free_[classes] = {};
  Link carriers_ = 0;  ///< of cells that are back, and not free yet

  static constexpr std::size_t emptied_limit = 32;
  static constexpr std::size_t emptied_bytes_limit = 64 * 1024;
  Link emptied_[emptied_limit];
  std::size_t emptied_count_ = 0;
  std::size_t emptied_bytes_ = 0;
};

}  // namespace meantime::match
