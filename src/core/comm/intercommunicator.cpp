// The making of intercommunicators. Each side has a leader; the *senior* leader, whose world rank
// is the lower one, takes the context that both sides share. Each leader takes the context of its
// own side's intracommunicator.
#include <algorithm>
#include <map>

#include "core/comm/communicator_make.h"
#include "core/comm/invitation.h"
#include "core/comm/nodes.h"
#include "core/comm/split_keys.h"
#include "core/comm/string_tag.h"
#include "core/error/error.h"
#include "core/object/tables.h"
#include "net/network.h"

namespace meantime::core {
namespace {

bool is_senior(const Communicator& inter) {
  return inter.group->world_rank(0) < inter.remote_group->world_rank(0);
}

/// What leaders tell each other in the second round; the list of members follows it.
struct Offer {
  std::int32_t error = 0;
  std::int32_t padding = 0;  ///< named, so that it is sent with a value
  Context context;           ///< from the senior one
};

/// Two leaders get to know each other's groups and agree on a context. `remote` is the result.
int negotiate(const Group& own, Communicator& bridge, int remote_leader, int tag,
              Invitation& invitation, std::vector<int>& remote) {
  int own_size = own.size;
  int remote_size = 0;
  if (const int error = exchange_bytes(&own_size, sizeof own_size, &remote_size, sizeof remote_size,
                                       remote_leader, tag, bridge);
      error != MPI_SUCCESS) {
    return error;
  }
  Offer offer;
  if (self().world_rank < bridge.peer_world_rank(remote_leader)) {
    // Whose members the bridge does not have; they may be anywhere.
    const Communicator& all = net::network() != nullptr ? *self().all_ranks : bridge;
    offer.error = acquire_context(all, own.size + remote_size, false, &offer.context);
  }
  const std::vector<int> list = world_ranks(own);
  std::vector<char> message(sizeof offer + sizeof(int) * list.size());
  std::copy_n(reinterpret_cast<const char*>(&offer), sizeof offer, message.data());
  std::copy_n(reinterpret_cast<const char*>(list.data()), sizeof(int) * list.size(),
              message.data() + sizeof offer);
  std::vector<char> answer(sizeof offer + sizeof(int) * remote_size);
  if (const int error = exchange_bytes(message.data(), message.size(), answer.data(), answer.size(),
                                       remote_leader, tag, bridge);
      error != MPI_SUCCESS) {
    return error;
  }
  Offer other;
  std::copy_n(answer.data(), sizeof other, reinterpret_cast<char*>(&other));
  remote.resize(remote_size);
  std::copy_n(answer.data() + sizeof other, sizeof(int) * remote_size,
              reinterpret_cast<char*>(remote.data()));
  for (const int world_rank : remote) {
    if (own.member(world_rank) >= 0) {
      return fail(MPI_ERR_COMM, "world rank {} is in both groups of the intercommunicator",
                  world_rank);
    }
  }
  if (offer.error != MPI_SUCCESS || other.error != MPI_SUCCESS) {
    return offer.error != MPI_SUCCESS ? offer.error : not_made(other.error);
  }
  invitation.context = offer.context.number != 0 ? offer.context : other.context;
  return MPI_SUCCESS;
}

int create_over_bridge(Communicator& local, int local_leader, Communicator* bridge,
                       int remote_leader, int tag, Communicator** made) {
  *made = nullptr;
  Invitation invitation;
  std::vector<int> remote;
  std::vector<int> none;
  if (local.rank == local_leader) {
    invitation.error = negotiate(*local.group, *bridge, remote_leader, tag, invitation, remote);
    if (invitation.error == MPI_SUCCESS) {
      invitation.error = acquire_context(local, local.size, true, &invitation.local);
    }
    for (int member = 0; member < local.size; ++member) {
      if (member != local.rank) {
        if (const int error = send_invitation(invitation, {}, remote, member, create_tag, local);
            error != MPI_SUCCESS) {
          return error;
        }
      }
    }
    if (invitation.error != MPI_SUCCESS) {
      return invitation.error;
    }
  } else if (const int error = receive_invitation(invitation, none, remote, self().world_size,
                                                  local_leader, create_tag, local);
             error != MPI_SUCCESS) {
    return error;
  }
  *made = assemble_inter(invitation, hold(*local.group), make_group(std::move(remote)), &local);
  return MPI_SUCCESS;
}

/// What one color of a split is on both sides, as the two leaders see it.
struct Sides {
  std::vector<int> local;   ///< ranks of the local group, in their new order
  std::vector<int> remote;  ///< of the remote group
};

std::map<int, Sides> both_sides(const std::vector<SplitKey>& local,
                                const std::vector<SplitKey>& remote) {
  std::map<int, Sides> colors;
  for (const SplitKeyOfRank& each : sorted(local)) {
    colors[each.color].local.push_back(each.rank);
  }
  for (const SplitKeyOfRank& each : sorted(remote)) {
    colors[each.color].remote.push_back(each.rank);
  }
  return colors;
}

std::vector<int> to_world(const std::vector<int>& ranks, const Group& group) {
  std::vector<int> world;
  for (const int rank : ranks) {
    world.push_back(group.world_rank(rank));
  }
  return world;
}

/// The invitations of all colors that both sides know, agreed on with the other leader.
int agree_on_contexts(Communicator& comm, const std::map<int, Sides>& colors,
                      std::map<int, Invitation>& invitations) {
  std::vector<Offer> offers;
  for (const auto& [color, sides] : colors) {
    if (sides.local.empty() || sides.remote.empty()) {
      continue;
    }
    Offer offer;
    if (is_senior(comm)) {
      offer.error = acquire_context(
          comm, static_cast<int>(sides.local.size() + sides.remote.size()), false, &offer.context);
    }
    offers.push_back(offer);
  }
  const std::size_t bytes = sizeof(Offer) * offers.size();
  const int error = is_senior(comm) ? send_bytes(offers.data(), bytes, 0, bridge_tag, comm)
                                    : receive_bytes(offers.data(), bytes, 0, bridge_tag, comm);
  if (error != MPI_SUCCESS) {
    return error;
  }
  std::size_t next = 0;
  for (const auto& [color, sides] : colors) {
    if (sides.local.empty() || sides.remote.empty()) {
      continue;
    }
    Invitation& invitation = invitations[color];
    invitation.error = offers[next].error;
    invitation.context = offers[next].context;
    ++next;
    if (invitation.error == MPI_SUCCESS) {
      invitation.error =
          acquire_context(comm, static_cast<int>(sides.local.size()), true, &invitation.local);
    }
  }
  return MPI_SUCCESS;
}

int lead_split(Communicator& comm, SplitKey own, Communicator** made) {
  std::vector<SplitKey> local;
  if (const int error = gather_split_keys(*comm.local, own, local); error != MPI_SUCCESS) {
    return error;
  }
  std::vector<SplitKey> remote(comm.remote_group->size);
  if (const int error = exchange_bytes(local.data(), sizeof(SplitKey) * local.size(), remote.data(),
                                       sizeof(SplitKey) * remote.size(), 0, bridge_tag, comm);
      error != MPI_SUCCESS) {
    return error;
  }
  const std::map<int, Sides> colors = both_sides(local, remote);
  std::map<int, Invitation> invitations;
  if (const int error = agree_on_contexts(comm, colors, invitations); error != MPI_SUCCESS) {
    return error;
  }
  int result = MPI_SUCCESS;
  for (const auto& [color, sides] : colors) {
    // A color that only one side knows makes nobody a member; its answer has no lists.
    const bool both = !sides.local.empty() && !sides.remote.empty();
    const Invitation invitation = both ? invitations[color] : Invitation{};
    const auto members = both ? to_world(sides.local, *comm.group) : std::vector<int>{};
    const auto others = both ? to_world(sides.remote, *comm.remote_group) : std::vector<int>{};
    for (const int rank : sides.local) {
      if (rank != comm.rank) {
        if (const int error =
                send_invitation(invitation, members, others, rank, answer_tag, *comm.local);
            error != MPI_SUCCESS) {
          return error;
        }
      } else if (invitation.error != MPI_SUCCESS) {
        result = invitation.error;
      } else if (both) {
        *made = assemble_inter(invitation, make_group(members), make_group(others), &comm);
      }
    }
  }
  return result;
}

}  // namespace

int create_intercommunicator(Communicator& local, int local_leader, Communicator* bridge,
                             int remote_leader, int tag, Communicator** made) {
  return create_over_bridge(local, local_leader, bridge, remote_leader, leader_tags + tag, made);
}

int create_intercommunicator_from_groups(Group& local, int local_leader, Group& remote,
                                         int remote_leader, std::string_view string_tag,
                                         Communicator** made) {
  *made = nullptr;
  if (local.rank < 0) {
    return fail(MPI_ERR_GROUP, "the calling rank is not in the local group");
  }
  Communicator* side = nullptr;
  if (const int error = create_from_group(local, string_tag, &side); error != MPI_SUCCESS) {
    return error;
  }
  const int tag = string_tags + hash_tag(string_tag, {&local, &remote});
  const int error = create_over_bridge(*side, local_leader, self().all_ranks,
                                       remote.world_rank(remote_leader), tag, made);
  drop(side);
  return error;
}

int split_intercommunicator(Communicator& comm, int color, int key, Communicator** made) {
  *made = nullptr;
  const SplitKey own{color, key};
  if (comm.rank == 0) {
    return lead_split(comm, own, made);
  }
  if (const int error = send_bytes(&own, sizeof own, 0, split_key_tag, *comm.local);
      error != MPI_SUCCESS) {
    return error;
  }
  if (color == MPI_UNDEFINED) {
    return MPI_SUCCESS;
  }
  Invitation invitation;
  std::vector<int> members;
  std::vector<int> others;
  if (const int error =
          receive_invitation(invitation, members, others, comm.size + comm.remote_group->size, 0,
                             answer_tag, *comm.local);
      error != MPI_SUCCESS) {
    return error;
  }
  if (!members.empty()) {
    *made = assemble_inter(invitation, make_group(std::move(members)),
                           make_group(std::move(others)), &comm);
  }
  return MPI_SUCCESS;
}

int merge(Communicator& comm, bool high, Communicator** made) {
  *made = nullptr;
  struct Side {
    std::int32_t high = 0;
    std::int32_t error = 0;
    Context context;  ///< from the senior leader
  };
  Invitation invitation;
  if (comm.rank == 0) {
    Side own;
    own.high = high ? 1 : 0;
    if (is_senior(comm)) {
      own.error = acquire_context(comm, comm.size + comm.remote_group->size, true, &own.context);
    }
    Side other;
    if (const int error =
            exchange_bytes(&own, sizeof own, &other, sizeof other, 0, merge_tag, comm);
        error != MPI_SUCCESS) {
      return error;
    }
    const Side& senior = is_senior(comm) ? own : other;
    invitation.error = senior.error;
    invitation.context = senior.context;
    invitation.own_first = own.high != other.high ? own.high < other.high : is_senior(comm);
    for (int member = 1; member < comm.size; ++member) {
      if (const int error = send_invitation(invitation, {}, {}, member, merge_tag, *comm.local);
          error != MPI_SUCCESS) {
        return error;
      }
    }
    if (invitation.error != MPI_SUCCESS) {
      return not_made(invitation.error);
    }
  } else {
    std::vector<int> none;
    if (const int error = receive_invitation(invitation, none, none, 0, 0, merge_tag, *comm.local);
        error != MPI_SUCCESS) {
      return error;
    }
  }
  std::vector<int> world =
      world_ranks(invitation.own_first != 0 ? *comm.group : *comm.remote_group);
  const std::vector<int> last =
      world_ranks(invitation.own_first != 0 ? *comm.remote_group : *comm.group);
  world.insert(world.end(), last.begin(), last.end());
  *made = assemble(invitation.context, make_group(std::move(world)), nullptr, &comm);
  return settle_on_nodes(**made);
}

}  // namespace meantime::core
