#include "core/comm/group.h"

#include <algorithm>
#include <cstdlib>

#include "core/error/error.h"
#include "core/object/tables.h"
#include "rank/rank.h"

namespace meantime {

int Group::member(int world_rank) const {
  if (world.empty()) {
    return world_rank >= 0 && world_rank < size ? world_rank : -1;
  }
  const auto place = std::find(world.begin(), world.end(), world_rank);
  return place == world.end() ? -1 : static_cast<int>(place - world.begin());
}

namespace core {
namespace {

/// The way from world ranks to members, for operations that look up many.
class Places {
 public:
  explicit Places(const Group& group) : group_(group) {
    if (group.is_identity()) {
      return;
    }
    const int highest = *std::max_element(group.world.begin(), group.world.end());
    members_.assign(highest + 1, -1);
    for (int member = 0; member < group.size; ++member) {
      members_[group.world[member]] = member;
    }
  }

  int operator[](int world_rank) const {
    if (group_.is_identity()) {
      return world_rank < group_.size ? world_rank : -1;
    }
    return world_rank < static_cast<int>(members_.size()) ? members_[world_rank] : -1;
  }

 private:
  const Group& group_;
  std::vector<int> members_;
};

Group* empty_group() {
  return hold(tables().empty_group);
}

/// The members for which `wanted` says yes, in the group's order; the group itself if all.
template <class Wanted>
Group* filter(Group& group, Wanted wanted) {
  std::vector<int> world;
  for (int member = 0; member < group.size; ++member) {
    if (wanted(member)) {
      world.push_back(group.world_rank(member));
    }
  }
  return static_cast<int>(world.size()) == group.size ? hold(group)
                                                      : make_group(std::move(world), &group);
}

/// A range (first, last, stride) as MPI_Group_range_incl means it, appended to `members`.
int expand_ranges(const Group& group, int count, const int ranges[][3], std::vector<int>& members) {
  if (count > 0 && ranges == nullptr) {
    return fail(MPI_ERR_ARG, "the array of ranges is a null pointer");
  }
  for (int index = 0; index < count; ++index) {
    const long first = ranges[index][0];
    const long last = ranges[index][1];
    const long stride = ranges[index][2];
    if (stride == 0) {
      return fail(MPI_ERR_ARG, "the stride of range {} is 0", index);
    }
    if (first < 0 || first >= group.size) {
      return fail(MPI_ERR_ARG, "range {} begins at rank {} of a group of {}", index, first,
                  group.size);
    }
    // The last rank named need not be reached, so it is only wrong if the steps get there.
    if ((stride > 0 && last < first) || (stride < 0 && last > first)) {
      return fail(MPI_ERR_ARG, "range {} from {} to {} has the stride {}", index, first, last,
                  stride);
    }
    const long steps = (last - first) / stride;
    const long reached = first + steps * stride;
    if (reached < 0 || reached >= group.size) {
      return fail(MPI_ERR_ARG, "range {} reaches rank {} of a group of {}", index, reached,
                  group.size);
    }
    for (long step = 0; step <= steps; ++step) {
      members.push_back(static_cast<int>(first + step * stride));
    }
  }
  return MPI_SUCCESS;
}

/// Marks the members named; complains of one that does not exist or is named twice.
int mark(const Group& group, int count, const int members[], std::vector<char>& named) {
  named.assign(group.size, 0);
  for (int index = 0; index < count; ++index) {
    const int member = members[index];
    if (member < 0 || member >= group.size) {
      return fail(MPI_ERR_RANK, "there is no rank {} in a group of {}", member, group.size);
    }
    if (named[member] != 0) {
      return fail(MPI_ERR_RANK, "rank {} is named twice", member);
    }
    named[member] = 1;
  }
  return MPI_SUCCESS;
}

}  // namespace

Group* make_identity_group(int size) {
  if (size == 0) {
    return empty_group();
  }
  Group* group = new Group;
  group->size = size;
  const int own = self().world_rank;
  group->rank = own < size ? own : -1;
  return group;
}

Group* make_session_group(const Group& members, std::shared_ptr<Buffer> session_buffer) {
  auto* group = new Group;
  group->size = members.size;
  group->rank = members.rank;
  group->world = members.world;
  group->session_buffer = std::move(session_buffer);
  return group;
}

MPI_Group handle_of_its_own(Group* group) {
  if (group->size > 0 && group->references.load(std::memory_order_relaxed) > 1) {
    Group* const copy = make_session_group(*group, group->session_buffer);
    drop(group);
    group = copy;
  }
  return group->handle();
}

Group* make_group(std::vector<int> world_ranks, const Group* from) {
  const int size = static_cast<int>(world_ranks.size());
  bool identity = true;
  for (int member = 0; identity && member < size; ++member) {
    identity = world_ranks[member] == member;
  }
  Group* group = nullptr;
  if (identity) {
    group = make_identity_group(size);
  } else {
    group = new Group;
    group->size = size;
    group->world = std::move(world_ranks);
    group->rank = group->member(self().world_rank);
  }
  if (from != nullptr && size > 0) {
    group->session_buffer = from->session_buffer;
  }
  return group;
}

Group* unite(Group& first, Group& second) {
  if (second.size == 0 ||
      (first.is_identity() && second.is_identity() && second.size <= first.size)) {
    return hold(first);
  }
  const Places places(first);
  std::vector<int> world;
  world.reserve(first.size + second.size);
  for (int member = 0; member < first.size; ++member) {
    world.push_back(first.world_rank(member));
  }
  for (int member = 0; member < second.size; ++member) {
    if (places[second.world_rank(member)] < 0) {
      world.push_back(second.world_rank(member));
    }
  }
  return make_group(std::move(world), &first);
}

Group* intersect(Group& first, Group& second) {
  if (first.is_identity() && second.is_identity()) {
    return first.size <= second.size ? hold(first) : hold(second);
  }
  const Places places(second);
  return filter(first, [&](int member) { return places[first.world_rank(member)] >= 0; });
}

Group* subtract(Group& first, const Group& second) {
  const Places places(second);
  return filter(first, [&](int member) { return places[first.world_rank(member)] < 0; });
}

int compare(const Group& first, const Group& second) {
  if (first.size != second.size) {
    return MPI_UNEQUAL;
  }
  if (first.world == second.world) {
    return MPI_IDENT;
  }
  const Places places(second);
  for (int member = 0; member < first.size; ++member) {
    if (places[first.world_rank(member)] < 0) {
      return MPI_UNEQUAL;
    }
  }
  return MPI_SIMILAR;
}

int include(Group& group, int count, const int members[], Group** result) {
  std::vector<char> named;
  if (const int error = mark(group, count, members, named); error != MPI_SUCCESS) {
    return error;
  }
  std::vector<int> world(count);
  for (int index = 0; index < count; ++index) {
    world[index] = group.world_rank(members[index]);
  }
  *result = make_group(std::move(world), &group);
  return MPI_SUCCESS;
}

int exclude(Group& group, int count, const int members[], Group** result) {
  std::vector<char> named;
  if (const int error = mark(group, count, members, named); error != MPI_SUCCESS) {
    return error;
  }
  *result = filter(group, [&](int member) { return named[member] == 0; });
  return MPI_SUCCESS;
}

int include_ranges(Group& group, int count, const int ranges[][3], Group** result) {
  std::vector<int> members;
  if (const int error = expand_ranges(group, count, ranges, members); error != MPI_SUCCESS) {
    return error;
  }
  return include(group, static_cast<int>(members.size()), members.data(), result);
}

int exclude_ranges(Group& group, int count, const int ranges[][3], Group** result) {
  std::vector<int> members;
  if (const int error = expand_ranges(group, count, ranges, members); error != MPI_SUCCESS) {
    return error;
  }
  return exclude(group, static_cast<int>(members.size()), members.data(), result);
}

int translate(const Group& from, int count, const int members[], const Group& to, int places[]) {
  const bool one_by_one = count < 4 || to.is_identity();
  const Places table(one_by_one ? tables().empty_group : to);
  for (int index = 0; index < count; ++index) {
    const int member = members[index];
    if (member == MPI_PROC_NULL) {
      places[index] = MPI_PROC_NULL;
      continue;
    }
    if (member < 0 || member >= from.size) {
      return fail(MPI_ERR_RANK, "there is no rank {} in a group of {}", member, from.size);
    }
    const int world_rank = from.world_rank(member);
    const int place = one_by_one ? to.member(world_rank) : table[world_rank];
    places[index] = place < 0 ? MPI_UNDEFINED : place;
  }
  return MPI_SUCCESS;
}

}  // namespace core
}  // namespace meantime
