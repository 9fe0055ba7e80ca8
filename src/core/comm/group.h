// A group: an ordered set of ranks of the world. Immutable once made, shared by reference count.
//   member     a rank's place in the group
//   identity   member i is world rank i: MPI_COMM_WORLD's group and its beginnings. Stored as a
//              size alone, and all operations on two of them are a comparison of sizes.
// Knows nothing of communicators.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "core/object/object.h"

namespace meantime {

namespace core {
struct Buffer;
}

struct Group : Object {
  static constexpr Kind object_kind = Kind::group;
  Group() : Object(Kind::group) {}
  ~Group() = default;

  int size = 0;
  int rank = -1;           ///< the owner's place in it, or -1: not a member
  std::vector<int> world;  ///< world rank of each member; empty = identity

  /// Of the session that it, or the group it was made from, came from (core/request/buffered.h).
  std::shared_ptr<core::Buffer> session_buffer;

  int world_rank(int member) const { return world.empty() ? member : world[member]; }
  bool is_identity() const { return world.empty(); }
  /// The place of a world rank, or -1. Linear unless identity: for many, see core::translate.
  int member(int world_rank) const;
  /// What a user gets to see; every group without members is MPI_GROUP_EMPTY.
  MPI_Group handle() { return size == 0 ? MPI_GROUP_EMPTY : reinterpret_cast<MPI_Group>(this); }
};

inline Group* hold(Group& group) {
  group.retain();
  return &group;
}
inline void drop(Group* group) {
  if (group != nullptr && group->release()) {
    delete group;
  }
}

namespace core {

/// A group of its own that came from the session with this buffer.
Group* make_session_group(const Group& members, std::shared_ptr<Buffer> session_buffer);

/// What the user gets for a new reference. To a group that others hold, too, it is one to a copy:
/// freed, it is no handle any more, and a copy of it cannot take a communicator's group away.
MPI_Group handle_of_its_own(Group* group);

// All of these return a new reference, and the rank's one empty group for a result without members.
/// `from`: whose session the new one's is.
Group* make_group(std::vector<int> world_ranks, const Group* from = nullptr);
Group* make_identity_group(int size);
Group* unite(Group& first, Group& second);
Group* intersect(Group& first, Group& second);
Group* subtract(Group& first, const Group& second);

/// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
int compare(const Group& first, const Group& second);

// MPI_Group_incl and its kin: MPI_ERR_RANK for a member that does not exist or is named twice.
int include(Group& group, int count, const int members[], Group** result);
int exclude(Group& group, int count, const int members[], Group** result);
int include_ranges(Group& group, int count, const int ranges[][3], Group** result);
int exclude_ranges(Group& group, int count, const int ranges[][3], Group** result);

/// The places in `to` of members of `from`; MPI_PROC_NULL stays, strangers give MPI_UNDEFINED.
int translate(const Group& from, int count, const int members[], const Group& to, int places[]);

}  // namespace core
}  // namespace meantime
