// The making of communicators. Every communicator has a leader, which takes a context for it and
// sends that to the other members as an invitation over the parent's collective context
// (core/comm/invitation.h). Nothing here uses collectives, so it works before a communicator has
// any. All of these return an MPI error class and set `*made` to a communicator whose only
// reference is the caller's, or to nullptr where the calling rank does not become a member. The new
// communicator inherits the error handler of the one it was made from (MPI 5.0 9.3).
#pragma once

#include <mpi.h>

#include <string_view>

#include "core/comm/communicator.h"
#include "core/request/request.h"

namespace meantime::core {

/// `info`: the new one's hints; nullptr = the same as `comm`'s.
int duplicate(Communicator& comm, const Info* info, Communicator** made);
/// MPI_Comm_idup: the communicator is usable once `*request` is complete; it may come complete.
int start_duplicate(Communicator& comm, const Info* info, Communicator** made, Request** request);

int split(Communicator& comm, int color, int key, Communicator** made);
/// MPI_Comm_split_type but for the hints of the new one.
int split_by_type(Communicator& comm, int split_type, int key, Info* info, Communicator** made);
/// The caller's group must be of members of `comm`. Only members communicate.
int create(Communicator& comm, Group& group, Communicator** made);
int create_group(Communicator& comm, Group& group, int tag, Communicator** made);
/// The first `count` members of an intracommunicator.
int create_first(Communicator& comm, int count, Communicator** made);
int create_from_group(Group& group, std::string_view string_tag, Communicator** made);

int create_intercommunicator(Communicator& local, int local_leader, Communicator* bridge,
                             int remote_leader, int tag, Communicator** made);
int create_intercommunicator_from_groups(Group& local, int local_leader, Group& remote,
                                         int remote_leader, std::string_view string_tag,
                                         Communicator** made);
int split_intercommunicator(Communicator& comm, int color, int key, Communicator** made);
int merge(Communicator& comm, bool high, Communicator** made);

/// MPI_IDENT, MPI_CONGRUENT, MPI_SIMILAR or MPI_UNEQUAL.
int compare(const Communicator& first, const Communicator& second);

/// The hints of a communicator as MPI_Comm_get_info shows them: what it knows, set or not.
Info* visible_hints(const Communicator& comm);
/// Takes over those hints of `info` that are known; the others are ignored.
void set_hints(Communicator& comm, const Info* info);
/// What a duplicate has of the original's hints: how the rank waits. MPI's own assertions are
/// promises about one communicator (MPI 5.0, 7.4.2: not propagated).
void inherit_hints(Communicator& comm, const Communicator& from);

}  // namespace meantime::core
