#include "core/comm/invitation.h"

#include <cstring>

#include "core/comm/group.h"
#include "core/error/error.h"
#include "core/object/tables.h"
#include "core/request/point_to_point.h"

namespace meantime::core {
namespace {

Operation send_of_bytes(const void* data, std::size_t bytes, int peer, int tag) {
  return send_of(data, static_cast<MPI_Count>(bytes), *resolve(MPI_BYTE), peer, tag,
                 ContextOffset::collective);
}
Operation receive_of_bytes(void* data, std::size_t bytes, int peer, int tag) {
  return receive_of(data, static_cast<MPI_Count>(bytes), *resolve(MPI_BYTE), peer, tag,
                    ContextOffset::collective);
}

}  // namespace

int send_bytes(const void* data, std::size_t bytes, int peer, int tag, Communicator& comm) {
  return send(send_of_bytes(data, bytes, peer, tag), comm);
}

int receive_bytes(void* data, std::size_t bytes, int peer, int tag, Communicator& comm) {
  return receive(receive_of_bytes(data, bytes, peer, tag), comm, MPI_STATUS_IGNORE);
}

int exchange_bytes(const void* data, std::size_t bytes, void* received, std::size_t received_bytes,
                   int peer, int tag, Communicator& comm) {
  return send_receive(send_of_bytes(data, bytes, peer, tag),
                      receive_of_bytes(received, received_bytes, peer, tag), comm,
                      MPI_STATUS_IGNORE);
}

int send_invitation(const Invitation& invitation, std::span<const int> members,
                    std::span<const int> remote_members, int peer, int tag, Communicator& comm) {
  Invitation head = invitation;
  head.members = static_cast<std::int32_t>(members.size());
  head.remote_members = static_cast<std::int32_t>(remote_members.size());
  std::vector<char> message(sizeof head + members.size_bytes() + remote_members.size_bytes());
  char* place = message.data();
  std::memcpy(place, &head, sizeof head);
  place += sizeof head;
  if (!members.empty()) {
    std::memcpy(place, members.data(), members.size_bytes());
    place += members.size_bytes();
  }
  if (!remote_members.empty()) {
    std::memcpy(place, remote_members.data(), remote_members.size_bytes());
  }
  return send_bytes(message.data(), message.size(), peer, tag, comm);
}

int receive_invitation(Invitation& invitation, std::vector<int>& members,
                       std::vector<int>& remote_members, int most, int peer, int tag,
                       Communicator& comm) {
  std::vector<char> message(sizeof invitation + sizeof(int) * static_cast<std::size_t>(most));
  if (const int error = receive_bytes(message.data(), message.size(), peer, tag, comm);
      error != MPI_SUCCESS) {
    return error;
  }
  std::memcpy(&invitation, message.data(), sizeof invitation);
  if (invitation.error != MPI_SUCCESS) {
    return not_made(invitation.error);
  }
  const char* place = message.data() + sizeof invitation;
  members.resize(invitation.members);
  remote_members.resize(invitation.remote_members);
  if (!members.empty()) {
    std::memcpy(members.data(), place, sizeof(int) * members.size());
  }
  if (!remote_members.empty()) {
    std::memcpy(remote_members.data(), place + sizeof(int) * members.size(),
                sizeof(int) * remote_members.size());
  }
  return MPI_SUCCESS;
}

int not_made(int error) {
  return error == MPI_ERR_NO_MEM ? fail_for_shared_memory("another communicator")
                                 : fail(error, "the communicator's leader could not make it");
}

Communicator* assemble(const Context& context, Group* group, Group* remote,
                       const Communicator* parent) {
  auto* comm = new Communicator;
  comm->context = context.number;
  comm->context_block = context.block;
  comm->group = group;
  comm->remote_group = remote;
  comm->size = group->size;
  comm->rank = group->rank;
  comm->errhandler = hold(parent != nullptr ? *parent->errhandler : tables().fatal);
  comm->session_buffer = parent != nullptr ? parent->session_buffer : group->session_buffer;
  return comm;
}

Communicator* assemble_inter(const Invitation& invitation, Group* group, Group* remote,
                             const Communicator* parent) {
  Communicator* comm = assemble(invitation.context, group, remote, parent);
  comm->local = assemble(invitation.local, hold(*group), nullptr, parent);
  return comm;
}

std::vector<int> world_ranks(const Group& group) {
  std::vector<int> world(group.size);
  for (int member = 0; member < group.size; ++member) {
    world[member] = group.world_rank(member);
  }
  return world;
}

}  // namespace meantime::core
