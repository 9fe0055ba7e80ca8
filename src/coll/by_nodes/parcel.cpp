#include "coll/by_nodes/parcel.h"

#include <mpi.h>

#include <cstring>
#include <limits>
#include <utility>

#include "core/error/error.h"

namespace meantime::coll::by_nodes {
namespace {

/// In place of a long one's length.
constexpr std::uint32_t longer = std::numeric_limits<std::uint32_t>::max();

int compare(const Walk::Entry& entry, std::size_t expected, std::size_t most, int from) {
  if (entry.is_long && expected <= most) {
    return fail(MPI_ERR_TRUNCATE, "rank {} gave more than the {} bytes that this rank has room for",
                from, expected);
  }
  if (!entry.is_long && entry.length > expected) {
    return fail(MPI_ERR_TRUNCATE, "rank {} gave {} bytes where this rank has room for {}", from,
                entry.length, expected);
  }
  return !entry.is_long && entry.length < expected
             ? fail(MPI_ERR_COUNT, "rank {} gave {} bytes where this rank expects {}", from,
                    entry.length, expected)
             : MPI_SUCCESS;
}

/// What is in a parcel, against that. (Of a block of its own, `own`, no message comes.)
int compare(char* parcel, const std::vector<int>& from, const std::vector<std::size_t>& expected,
            std::size_t most, int own, Surprises& surprises) {
  Walk walk(parcel, most);
  int error = MPI_SUCCESS;
  for (std::size_t block = 0; block < expected.size(); ++block) {
    const Walk::Entry entry = walk.next();
    if (entry.is_long != (expected[block] > most) && from[block] != own) {
      (entry.is_long ? surprises.unexpected : surprises.absent).push_back(from[block]);
    }
    if (error == MPI_SUCCESS) {
      error = compare(entry, expected[block], most, from[block]);
    }
  }
  return error == MPI_SUCCESS ? walk.check() : error;
}

}  // namespace

Walk::Entry Walk::next() {
  Entry entry{at_, longer, true};
  std::memcpy(&entry.length, at_, sizeof entry.length);
  entry.is_long = entry.length > most_;
  sound_ = sound_ && (!entry.is_long || entry.length == longer);
  at_ += entry.bytes();
  return entry;
}

int Walk::check() const {
  return sound_ ? MPI_SUCCESS
                : fail(MPI_ERR_OTHER, "not all ranks of a node called the same collective");
}

void Packed::put(const Piece& block) {
  const bool is_short = block.bytes() <= most_;
  const std::uint32_t length = is_short ? static_cast<std::uint32_t>(block.bytes()) : longer;
  std::memcpy(end_, &length, sizeof length);
  end_ += sizeof length;
  if (is_short && length > 0) {
    steps_.copy(block, bytes_at(end_, length));
    end_ += length;
  }
}

void unpack(Steps& steps, std::size_t most, const std::vector<Expected>& parcels) {
  struct Lengths {
    char* parcel;
    std::vector<int> from;
    std::vector<std::size_t> expected;
  };
  std::vector<Lengths> lengths;
  for (const Expected& one : parcels) {
    lengths.push_back({one.parcel, one.from, {}});
    for (const Piece& block : one.blocks) {
      lengths.back().expected.push_back(block.bytes());
    }
  }
  const int own = steps.comm.rank;
  steps.call([most, own, lengths = std::move(lengths)](Surprises& surprises) {
    int error = MPI_SUCCESS;
    for (const Lengths& one : lengths) {
      const int found = compare(one.parcel, one.from, one.expected, most, own, surprises);
      error = error == MPI_SUCCESS ? found : error;
    }
    return error;
  });
  for (const Expected& one : parcels) {
    char* place = one.parcel;
    for (const Piece& block : one.blocks) {
      place += parcel_of(1, 0);
      if (block.bytes() <= most && block.bytes() > 0) {
        steps.copy(bytes_at(place, block.bytes()), block);
        place += block.bytes();
      }
    }
  }
}

}  // namespace meantime::coll::by_nodes
