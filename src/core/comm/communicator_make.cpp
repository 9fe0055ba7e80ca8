#include "core/comm/communicator_make.h"

#include <algorithm>

#include "core/comm/invitation.h"
#include "core/comm/nodes.h"
#include "core/comm/split_keys.h"
#include "core/comm/string_tag.h"
#include "core/error/error.h"
#include "core/object/tables.h"
#include "core/request/point_to_point.h"

namespace meantime::core {
namespace {

/// The communicator of `group`, all of whose members call this. `parent` carries the messages.
int create_over(Communicator& parent, Group& group, int tag, const Communicator* inherit_from,
                Communicator** made) {
  *made = nullptr;
  if (group.rank < 0) {
    return MPI_SUCCESS;
  }
  Invitation invitation;
  std::vector<int> none;
  if (group.rank == 0) {
    invitation.error = acquire_context(parent, group.size, true, &invitation.context);
    for (int member = 1; member < group.size; ++member) {
      const int peer = parent.group->member(group.world_rank(member));
      if (const int error = send_invitation(invitation, {}, {}, peer, tag, parent);
          error != MPI_SUCCESS) {
        return error;
      }
    }
    if (invitation.error != MPI_SUCCESS) {
      return invitation.error;
    }
  } else {
    const int leader = parent.group->member(group.world_rank(0));
    if (const int error = receive_invitation(invitation, none, none, 0, leader, tag, parent);
        error != MPI_SUCCESS) {
      return error;
    }
  }
  // A copy: the handle to `group` is the user's, and is to be none once it is freed.
  *made = assemble(invitation.context, make_session_group(group, group.session_buffer), nullptr,
                   inherit_from);
  return settle_on_nodes(**made);
}

int check_members(const Communicator& comm, const Group& group) {
  if (comm.group->is_identity() && group.is_identity()) {
    return group.size <= comm.size
               ? MPI_SUCCESS
               : fail(MPI_ERR_GROUP, "the group has {} members, the communicator {}", group.size,
                      comm.size);
  }
  std::vector<int> members(group.size);
  std::vector<int> places(group.size);
  for (int member = 0; member < group.size; ++member) {
    members[member] = member;
  }
  if (const int error = translate(group, group.size, members.data(), *comm.group, places.data());
      error != MPI_SUCCESS) {
    return error;
  }
  for (int member = 0; member < group.size; ++member) {
    if (places[member] == MPI_UNDEFINED) {
      return fail(MPI_ERR_GROUP,
                  "member {} of the group (world rank {}) is not in the communicator", member,
                  group.world_rank(member));
    }
  }
  return MPI_SUCCESS;
}

/// The leader's part of a split: answers everybody who gave a color.
int answer_split_keys(Communicator& comm, const std::vector<SplitKey>& keys, Communicator** made) {
  int result = MPI_SUCCESS;
  for (const std::vector<int>& ranks : by_color(keys)) {
    Invitation invitation;
    invitation.error =
        acquire_context(comm, static_cast<int>(ranks.size()), true, &invitation.context);
    // An empty list stands for the parent's own group: the members share it then.
    std::vector<int> world;
    bool same = static_cast<int>(ranks.size()) == comm.size;
    for (std::size_t member = 0; same && member < ranks.size(); ++member) {
      same = ranks[member] == static_cast<int>(member);
    }
    if (!same) {
      for (const int rank : ranks) {
        world.push_back(comm.group->world_rank(rank));
      }
    }
    for (const int rank : ranks) {
      if (rank != comm.rank) {
        if (const int error = send_invitation(invitation, world, {}, rank, answer_tag, comm);
            error != MPI_SUCCESS) {
          return error;
        }
      } else if (invitation.error != MPI_SUCCESS) {
        result = invitation.error;
      } else {
        *made = assemble(invitation.context, same ? hold(*comm.group) : make_group(world), nullptr,
                         &comm);
      }
    }
  }
  return result;
}

}  // namespace

int split(Communicator& comm, int color, int key, Communicator** made) {
  if (comm.is_inter()) {
    return split_intercommunicator(comm, color, key, made);
  }
  *made = nullptr;
  const SplitKey own{color, key};
  if (comm.rank == 0) {
    std::vector<SplitKey> keys;
    if (const int error = gather_split_keys(comm, own, keys); error != MPI_SUCCESS) {
      return error;
    }
    const int error = answer_split_keys(comm, keys, made);
    return error != MPI_SUCCESS || *made == nullptr ? error : settle_on_nodes(**made);
  }
  if (const int error = send_bytes(&own, sizeof own, 0, split_key_tag, comm);
      error != MPI_SUCCESS) {
    return error;
  }
  if (color == MPI_UNDEFINED) {
    return MPI_SUCCESS;
  }
  Invitation invitation;
  std::vector<int> members;
  std::vector<int> none;
  if (const int error =
          receive_invitation(invitation, members, none, comm.size, 0, answer_tag, comm);
      error != MPI_SUCCESS) {
    return error;
  }
  Group* group = members.empty() ? hold(*comm.group) : make_group(std::move(members));
  *made = assemble(invitation.context, group, nullptr, &comm);
  return settle_on_nodes(**made);
}

int create(Communicator& comm, Group& group, Communicator** made) {
  *made = nullptr;
  if (const int error = check_members(comm, group); error != MPI_SUCCESS) {
    return error;
  }
  if (comm.is_inter()) {
    return split_intercommunicator(comm, group.rank < 0 ? MPI_UNDEFINED : 0, group.rank, made);
  }
  return create_over(comm, group, create_tag, &comm, made);
}

int create_group(Communicator& comm, Group& group, int tag, Communicator** made) {
  *made = nullptr;
  if (const int error = check_members(comm, group); error != MPI_SUCCESS) {
    return error;
  }
  return create_over(comm, group, group_tags + tag, &comm, made);
}

int create_first(Communicator& comm, int count, Communicator** made) {
  std::vector<int> world;
  Group* group = nullptr;
  if (count == comm.size) {
    group = hold(*comm.group);
  } else {
    for (int member = 0; member < count; ++member) {
      world.push_back(comm.group->world_rank(member));
    }
    group = make_group(std::move(world));
  }
  const int error = create_over(comm, *group, create_tag, &comm, made);
  drop(group);
  return error;
}

int create_from_group(Group& group, std::string_view string_tag, Communicator** made) {
  return create_over(*self().all_ranks, group, string_tags + hash_tag(string_tag, {&group}),
                     nullptr, made);
}

int compare(const Communicator& first, const Communicator& second) {
  if (&first == &second) {
    return MPI_IDENT;
  }
  if (first.is_inter() != second.is_inter()) {
    return MPI_UNEQUAL;
  }
  int result = compare(*first.group, *second.group);
  if (first.is_inter()) {
    const int remote = compare(*first.remote_group, *second.remote_group);
    // Of the two the worse; the constants ascend from MPI_IDENT to MPI_UNEQUAL.
    result = std::max(result, remote);
  }
  return result == MPI_IDENT ? MPI_CONGRUENT : result;
}

}  // namespace meantime::core
