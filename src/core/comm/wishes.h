// The wishes (color, key) of MPI_Comm_split, gathered and sorted by the leader.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <vector>

#include "core/comm/communicator.h"

namespace meantime::core {

struct Wish {
  int color;
  int key;
};

/// The leader's part: everybody else sends its wish to rank 0 of `comm` with wish_tag. One wait.
int gather_wishes(Communicator& comm, Wish own, std::vector<Wish>& wishes);

struct WishOfRank {
  int color;
  int key;
  int rank;
};

/// All wishes but MPI_UNDEFINED by color, key, rank.
inline std::vector<WishOfRank> sorted(const std::vector<Wish>& wishes) {
  std::vector<WishOfRank> all;
  for (std::size_t rank = 0; rank < wishes.size(); ++rank) {
    if (wishes[rank].color != MPI_UNDEFINED) {
      all.push_back({wishes[rank].color, wishes[rank].key, static_cast<int>(rank)});
    }
  }
  std::sort(all.begin(), all.end(), [](const WishOfRank& one, const WishOfRank& other) {
    return one.color != other.color ? one.color < other.color
           : one.key != other.key   ? one.key < other.key
                                    : one.rank < other.rank;
  });
  return all;
}

/// The ranks of each color in their new order; colors ascending.
inline std::vector<std::vector<int>> by_color(const std::vector<Wish>& wishes) {
  std::vector<std::vector<int>> groups;
  int last_color = MPI_UNDEFINED;
  for (const WishOfRank& wish : sorted(wishes)) {
    if (wish.color != last_color) {
      groups.emplace_back();
      last_color = wish.color;
    }
    groups.back().push_back(wish.rank);
  }
  return groups;
}

}  // namespace meantime::core
