// A communicator: a group with a context of its own.
//   context      separates the messages of communicators. A multiple of `context_step`: between
//                two lie the context offsets, one for each sort of messages
//                (core/request/point_to_point.h)
//   peer         a rank number as the user's calls name it: of the remote group if there is one
// Made only collectively (src/core/comm/communicator_make.cpp); freed by reference count, so an
// operation in flight keeps it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>

#include "core/comm/group.h"
#include "core/object/object.h"

namespace meantime {

struct Errhandler;
struct Info;
struct Topology;
struct AttributeTable;
struct Nodes;
namespace wait {
struct Policy;
struct Situation;
}  // namespace wait
namespace coll {
struct State;
}
namespace core {
struct Buffer;
}

inline constexpr std::uint32_t context_step = 4;

struct Communicator : Object {
  static constexpr Kind object_kind = Kind::communicator;
  Communicator();
  ~Communicator();

  std::uint32_t context = 0;
  int rank = 0;
  int size = 0;
  Group* group = nullptr;         ///< the local group (a reference is held)
  Group* remote_group = nullptr;  ///< of an intercommunicator, else nullptr
  Errhandler* errhandler = nullptr;
  std::unique_ptr<AttributeTable> attributes;
  std::unique_ptr<Topology> topology;
  Info* info = nullptr;
  std::string name;
  /// How it was made, for who has given it no name: "a duplicate of MPI_COMM_WORLD", behind
  /// node::no_name. Empty: not known.
  std::string origin;
  const std::string& name_or_origin() const { return name.empty() ? origin : name; }
  std::unique_ptr<wait::Policy> waiting;  ///< how this rank waits here; none: as anywhere
  Communicator* local =
      nullptr;  ///< of an intercommunicator: its local group's own intracommunicator
  MPI_Comm constant = MPI_COMM_NULL;  ///< of MPI_COMM_WORLD and MPI_COMM_SELF
  /// What the collectives keep here, which only they know, and end. They make it at first use.
  std::unique_ptr<coll::State, void (*)(coll::State*)> collectives{nullptr, nullptr};
  std::uint64_t collective_area = 0;  ///< MPI_COMM_WORLD's; for others see core/comm/context.h
  std::unique_ptr<Nodes> nodes;       ///< if it has several (core/comm/nodes.h)
  std::uint64_t context_block =
      0;  ///< node::Link of what counts its members, see core/comm/context.h

  // For buffered sends, see core/request/buffered.h: its own, and that of the session it came from.
  std::shared_ptr<core::Buffer> buffer;
  std::shared_ptr<core::Buffer> session_buffer;

  MPI_Comm handle() {
    return constant != MPI_COMM_NULL ? constant : reinterpret_cast<MPI_Comm>(this);
  }
  /// All of its ranks, and so of a remote group.
  bool is_on_one_node() const;
  bool is_inter() const { return remote_group != nullptr; }
  /// How many ranks a destination or source argument may name.
  int peers() const { return remote_group != nullptr ? remote_group->size : size; }
  int peer_world_rank(int peer) const {
    return (remote_group != nullptr ? remote_group : group)->world_rank(peer);
  }
  /// What a report says of a wait for a message; `peer` may be MPI_ANY_SOURCE.
  void describe(int peer, int tag, wait::Situation& situation) const;
  /// Whether `root`, as this rank gives it to a collective, is this rank (MPI 5.0, 6.2.3).
  bool is_root(int root) const { return is_inter() ? root == MPI_ROOT : root == rank; }
  /// False for those who stand beside the root of an intercommunicator's collective.
  bool takes_part(int root) const { return !is_inter() || root != MPI_PROC_NULL; }
};

inline Communicator* hold(Communicator& comm) {
  comm.retain();
  return &comm;
}
/// With the last reference the rank leaves the communicator's context; the rank's lock is held.
inline void drop(Communicator* comm) {
  if (comm != nullptr && comm->release()) {
    delete comm;
  }
}

}  // namespace meantime
