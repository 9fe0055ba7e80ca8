// A group: an ordered set of ranks of the world. Immutable once made, shared by reference count.
#pragma once

#include <vector>

#include "core/object.h"

namespace meantime {

struct Group : Object {
  static constexpr Kind object_kind = Kind::group;
  Group() : Object(Kind::group) {}
  ~Group() = default;

  int size = 0;
  int rank = -1;  ///< the owner's place in it, or MPI_UNDEFINED's role: -1 = not a member
  std::vector<int>
      world;  ///< world rank of each member; empty = identity (member i is world rank i)

  int world_rank(int member) const { return world.empty() ? member : world[member]; }
};

}  // namespace meantime
