// What goes by speakers of collectives whose blocks have lengths of their own, which only a block's
// two ranks know.
//   short    a block up to so many bytes: it goes by the speakers, with others
//   long     a longer one: a message between its two ranks, for which no other one waits. Both
//            find the same, as MPI wants them to give the same length
//   entry    a block's length, and if it is short the block. Whoever passes it on learns its length
//            from it; who takes it compares that with what it expects
//   parcel   entries, one behind the other
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "coll/by_nodes/steps.h"

namespace meantime::coll::by_nodes {

/// If none is longer than `most`; 0: of lengths alone.
constexpr std::size_t parcel_of(std::size_t entries, std::size_t most) {
  return entries * (sizeof(std::uint32_t) + most);
}

/// Goes through a parcel that has come.
class Walk {
 public:
  Walk(char* at, std::size_t most) : at_(at), most_(most) {}

  struct Entry {
    char* begin;
    std::uint32_t length;
    bool is_long;
    std::size_t bytes() const { return sizeof length + (is_long ? 0 : length); }
  };
  Entry next();
  char* at() const { return at_; }
  /// What came is no parcel if somebody called something else.
  int check() const;

 private:
  char* at_;
  const std::size_t most_;
  bool sound_ = true;
};

/// A parcel of blocks that this rank gives.
class Packed {
 public:
  Packed(char* place, std::size_t most, Steps& steps)
      : begin_(place), end_(place), most_(most), steps_(steps) {}

  void put(const Piece& block);
  Piece all() const { return bytes_at(begin_, static_cast<std::size_t>(end_ - begin_)); }

 private:
  char* const begin_;
  char* end_;
  const std::size_t most_;
  Steps& steps_;
};

/// One that comes, and what this rank expects in it, from which ranks.
struct Expected {
  char* parcel;
  std::vector<int> from;
  std::vector<Piece> blocks;
};
/// Takes them apart. Not after an error: a long message that does not come, or that nobody expects,
/// would not be found. So what this rank may find wrong by itself comes afterwards.
void unpack(Steps& steps, std::size_t most, const std::vector<Expected>& parcels);

}  // namespace meantime::coll::by_nodes
