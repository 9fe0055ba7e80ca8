// What the leader of a new communicator tells its members, and how. Only for the makers of
// communicators (communicator_make.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/comm/communicator.h"
#include "core/comm/context.h"
#include "core/comm/tag_ranges.h"
#include "core/request/request.h"

namespace meantime::core {

struct Invitation {
  std::int32_t error = 0;           ///< an MPI error class instead of an invitation
  std::int32_t members = 0;         ///< how many world ranks of the local group follow …
  std::int32_t remote_members = 0;  ///< … and of the remote group
  std::int32_t own_first = 0;       ///< of a merge: the reader's group comes first
  Context context;
  Context local;  ///< of the intracommunicator inside an intercommunicator
};

// Which making: ranks call them in the same order for a communicator, so one tag each would do;
// more than one only makes a mistake visible.
inline constexpr int split_key_tag = making_tags + 0;
inline constexpr int answer_tag = making_tags + 1;
inline constexpr int duplicate_tag = making_tags + 2;
inline constexpr int create_tag = making_tags + 3;
inline constexpr int merge_tag = making_tags + 4;
inline constexpr int bridge_tag = making_tags + 5;
inline constexpr int share_tag = making_tags + 6;
// Of others that use a communicator's collective context between calls of its user:
inline constexpr int last_tag = making_tags + 7;  ///< the wait at the end (core/start/use.cpp)

// Bytes over a communicator's collective context.
int send_bytes(const void* data, std::size_t bytes, int peer, int tag, Communicator& comm);
int receive_bytes(void* data, std::size_t bytes, int peer, int tag, Communicator& comm);
int exchange_bytes(const void* data, std::size_t bytes, void* received, std::size_t received_bytes,
                   int peer, int tag, Communicator& comm);

/// An invitation with its lists as one message.
int send_invitation(const Invitation& invitation, std::span<const int> members,
                    std::span<const int> remote_members, int peer, int tag, Communicator& comm);
/// `most` = the longest the two lists can be together. An error inside is returned.
int receive_invitation(Invitation& invitation, std::vector<int>& members,
                       std::vector<int>& remote_members, int most, int peer, int tag,
                       Communicator& comm);
/// An error that another rank has told, with what there is to say of it.
int not_made(int error);

/// A communicator of this context. Takes over the reference to the groups; `remote` may be nullptr.
/// `parent` gives the error handler; nullptr = MPI_ERRORS_ARE_FATAL.
Communicator* assemble(const Context& context, Group* group, Group* remote,
                       const Communicator* parent);
/// An intercommunicator with the intracommunicator inside it.
Communicator* assemble_inter(const Invitation& invitation, Group* group, Group* remote,
                             const Communicator* parent);

std::vector<int> world_ranks(const Group& group);

}  // namespace meantime::core
