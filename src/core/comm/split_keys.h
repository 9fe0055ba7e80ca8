// The split keys (color, key) of MPI_Comm_split, gathered and sorted by the leader.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <vector>

#include "core/comm/communicator.h"

namespace meantime::core {

struct SplitKey {
  int color;
  int key;
};

/// The leader's part: everybody else sends its own to rank 0 of `comm` with split_key_tag. One
/// wait.
int gather_split_keys(Communicator& comm, SplitKey own, std::vector<SplitKey>& keys);

struct SplitKeyOfRank {
  int color;
  int key;
  int rank;
};

/// All but MPI_UNDEFINED by color, key, rank.
inline std::vector<SplitKeyOfRank> sorted(const std::vector<SplitKey>& keys) {
  std::vector<SplitKeyOfRank> all;
  for (std::size_t rank = 0; rank < keys.size(); ++rank) {
    if (keys[rank].color != MPI_UNDEFINED) {
      all.push_back({keys[rank].color, keys[rank].key, static_cast<int>(rank)});
    }
  }
  std::sort(all.begin(), all.end(), [](const SplitKeyOfRank& one, const SplitKeyOfRank& other) {
    return one.color != other.color ? one.color < other.color
           : one.key != other.key   ? one.key < other.key
                                    : one.rank < other.rank;
  });
  return all;
}

/// The ranks of each color in their new order; colors ascending.
inline std::vector<std::vector<int>> by_color(const std::vector<SplitKey>& keys) {
  std::vector<std::vector<int>> groups;
  int last_color = MPI_UNDEFINED;
  for (const SplitKeyOfRank& each : sorted(keys)) {
    if (each.color != last_color) {
      groups.emplace_back();
      last_color = each.color;
    }
    groups.back().push_back(each.rank);
  }
  return groups;
}

}  // namespace meantime::core
