// MPI 5.0 chapters 7.4 to 7.6 and 7.8: communicators, their names and hints.
#include "core/comm/communicator.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "api/generated/calls.h"
#include "core/comm/communicator_make.h"
#include "core/comm/tag_ranges.h"
#include "core/error/error.h"
#include "core/error/error_attribution.h"
#include "core/object/attribute.h"
#include "core/object/tables.h"
#include "node/words.h"

namespace meantime::api {
namespace {

/// The user's end of every call that makes a communicator.
int give(int error, Communicator* made, MPI_Comm* handle) {
  *handle = made != nullptr ? made->handle() : MPI_COMM_NULL;
  return error;
}

void note_origin(Communicator* made, std::string_view how, const Communicator& parent) {
  const std::string& named = parent.name.empty() ? parent.origin : parent.name;
  if (made != nullptr && !named.empty()) {
    made->origin = node::no_name;
    made->origin += how;
    made->origin += std::string_view(named).substr(parent.name.empty() ? 1 : 0);
    made->origin.resize(std::min<std::size_t>(made->origin.size(), MPI_MAX_OBJECT_NAME));
  }
}

int check_tag(int tag) {
  return tag >= 0 && tag <= core::highest_user_tag
             ? MPI_SUCCESS
             : fail(MPI_ERR_TAG, "tag {} is not between 0 and {}", tag, core::highest_user_tag);
}

int check_string_tag(const char* text) {
  return strnlen(text, MPI_MAX_STRINGTAG_LEN) < MPI_MAX_STRINGTAG_LEN
             ? MPI_SUCCESS
             : fail(MPI_ERR_ARG, "a string tag has at most {} letters", MPI_MAX_STRINGTAG_LEN - 1);
}

void set_errhandler(Communicator& comm, Errhandler& errhandler) {
  drop(comm.errhandler);
  comm.errhandler = hold(errhandler);
}

}  // namespace

// --- What a communicator is

int Comm_size(Communicator& comm, int* size) {
  *size = comm.size;
  return MPI_SUCCESS;
}

int Comm_rank(Communicator& comm, int* rank) {
  *rank = comm.rank;
  return MPI_SUCCESS;
}

int Comm_remote_size(Communicator& comm, int* size) {
  *size = comm.remote_group->size;
  return MPI_SUCCESS;
}

int Comm_test_inter(Communicator& comm, int* flag) {
  *flag = comm.is_inter() ? 1 : 0;
  return MPI_SUCCESS;
}

int Comm_compare(Communicator& comm1, Communicator& comm2, int* result) {
  *result = core::compare(comm1, comm2);
  return MPI_SUCCESS;
}

int Comm_set_name(Communicator& comm, const char* comm_name) {
  comm.name.assign(comm_name, strnlen(comm_name, MPI_MAX_OBJECT_NAME - 1));
  return MPI_SUCCESS;
}

int Comm_get_name(MPI_Comm comm, char* comm_name, int* resultlen) {
  const Communicator* object = resolve(comm);
  if (object == nullptr && comm != MPI_COMM_NULL) {
    return fail(MPI_ERR_COMM, "the handle is no communicator");
  }
  const std::string_view name =
      object == nullptr ? std::string_view("MPI_COMM_NULL") : std::string_view(object->name);
  std::memcpy(comm_name, name.data(), name.size());
  comm_name[name.size()] = '\0';
  *resultlen = static_cast<int>(name.size());
  return MPI_SUCCESS;
}

int Comm_set_info(Communicator& comm, Info* info) {
  core::set_hints(comm, info);
  return MPI_SUCCESS;
}

int Comm_get_info(Communicator& comm, MPI_Info* info_used) {
  *info_used = core::visible_hints(comm)->handle();
  return MPI_SUCCESS;
}

int Comm_get_parent(MPI_Comm* parent) {
  *parent = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

// --- Making

int Comm_dup(Communicator& comm, MPI_Comm* newcomm) {
  Communicator* made = nullptr;
  const int error = core::duplicate(comm, nullptr, &made);
  note_origin(made, "a duplicate of ", comm);
  return give(error, made, newcomm);
}

int Comm_dup_with_info(Communicator& comm, Info* info, MPI_Comm* newcomm) {
  // MPI_INFO_NULL is a set of hints too: none.
  const Info none;
  Communicator* made = nullptr;
  const int error = core::duplicate(comm, info != nullptr ? info : &none, &made);
  note_origin(made, "a duplicate of ", comm);
  return give(error, made, newcomm);
}

int Comm_idup(Communicator& comm, MPI_Comm* newcomm, MPI_Request* request) {
  Communicator* made = nullptr;
  Request* started = nullptr;
  const int error = core::start_duplicate(comm, nullptr, &made, &started);
  *request = started != nullptr ? started->handle() : MPI_REQUEST_NULL;
  note_origin(made, "a duplicate of ", comm);
  return give(error, made, newcomm);
}

int Comm_idup_with_info(Communicator& comm, Info* info, MPI_Comm* newcomm, MPI_Request* request) {
  const Info none;
  Communicator* made = nullptr;
  Request* started = nullptr;
  const int error = core::start_duplicate(comm, info != nullptr ? info : &none, &made, &started);
  *request = started != nullptr ? started->handle() : MPI_REQUEST_NULL;
  note_origin(made, "a duplicate of ", comm);
  return give(error, made, newcomm);
}

int Comm_create(Communicator& comm, Group& group, MPI_Comm* newcomm) {
  Communicator* made = nullptr;
  const int error = core::create(comm, group, &made);
  note_origin(made, "a part of ", comm);
  return give(error, made, newcomm);
}

int Comm_create_group(Communicator& comm, Group& group, int tag, MPI_Comm* newcomm) {
  Communicator* made = nullptr;
  int error = check_tag(tag);
  if (error == MPI_SUCCESS) {
    error = core::create_group(comm, group, tag, &made);
  }
  note_origin(made, "a part of ", comm);
  return give(error, made, newcomm);
}

int Comm_create_from_group(Group& group, const char* stringtag, Info* info, Errhandler& errhandler,
                           MPI_Comm* newcomm) {
  Communicator* made = nullptr;
  int error = check_string_tag(stringtag);
  if (error == MPI_SUCCESS) {
    error = core::create_from_group(group, stringtag, &made);
  }
  if (made != nullptr) {
    core::set_hints(*made, info);
    set_errhandler(*made, errhandler);
  }
  return give(error, made, newcomm);
}

int Comm_split(Communicator& comm, int color, int key, MPI_Comm* newcomm) {
  Communicator* made = nullptr;
  const int error = color >= 0 || color == MPI_UNDEFINED
                        ? core::split(comm, color, key, &made)
                        : fail(MPI_ERR_ARG, "color {} is negative", color);
  note_origin(made, "a part of ", comm);
  return give(error, made, newcomm);
}

int Comm_split_type(Communicator& comm, int split_type, int key, Info* info, MPI_Comm* newcomm) {
  Communicator* made = nullptr;
  const int error = core::split_by_type(comm, split_type, key, info, &made);
  if (made != nullptr) {
    core::set_hints(*made, info);
  }
  note_origin(made, "a part of ", comm);
  return give(error, made, newcomm);
}

int Intercomm_create(Communicator& local_comm, int local_leader, MPI_Comm peer_comm,
                     int remote_leader, int tag, MPI_Comm* newintercomm) {
  Communicator* made = nullptr;
  Communicator* bridge = nullptr;
  int error = check_tag(tag);
  if (error == MPI_SUCCESS && local_comm.rank == local_leader) {
    bridge = resolve(peer_comm);
    if (bridge == nullptr) {
      error = fail(MPI_ERR_COMM, "the leader's peer communicator is none");
    } else if (remote_leader < 0 || remote_leader >= bridge->peers()) {
      error = fail(MPI_ERR_RANK, "remote leader {} is not in the peer communicator of {} ranks",
                   remote_leader, bridge->peers());
    } else if (bridge->peer_world_rank(remote_leader) == self().world_rank) {
      error = fail(MPI_ERR_RANK, "both leaders are this rank: the two groups have it in common");
    }
  }
  if (error == MPI_SUCCESS) {
    error =
        core::create_intercommunicator(local_comm, local_leader, bridge, remote_leader, tag, &made);
  }
  return give(error, made, newintercomm);
}

int Intercomm_create_from_groups(Group& local_group, int local_leader, Group& remote_group,
                                 int remote_leader, const char* stringtag, Info* info,
                                 Errhandler& errhandler, MPI_Comm* newintercomm) {
  Communicator* made = nullptr;
  int error = check_string_tag(stringtag);
  if (error == MPI_SUCCESS && (local_leader < 0 || local_leader >= local_group.size)) {
    error = fail(MPI_ERR_RANK, "local leader {} is not in a group of {}", local_leader,
                 local_group.size);
  }
  if (error == MPI_SUCCESS && (remote_leader < 0 || remote_leader >= remote_group.size)) {
    error = fail(MPI_ERR_RANK, "remote leader {} is not in a group of {}", remote_leader,
                 remote_group.size);
  }
  if (error == MPI_SUCCESS) {
    error = core::create_intercommunicator_from_groups(local_group, local_leader, remote_group,
                                                       remote_leader, stringtag, &made);
  }
  if (made != nullptr) {
    core::set_hints(*made, info);
    set_errhandler(*made, errhandler);
  }
  return give(error, made, newintercomm);
}

int Intercomm_merge(Communicator& intercomm, int high, MPI_Comm* newintracomm) {
  Communicator* made = nullptr;
  const int error = core::merge(intercomm, high != 0, &made);
  return give(error, made, newintracomm);
}

// --- Freeing

int Comm_free(MPI_Comm* comm) {
  Communicator* object = resolve(*comm);
  if (object == nullptr) {
    return fail(MPI_ERR_COMM, "there is no communicator to free");
  }
  if (object->constant != MPI_COMM_NULL) {
    attribute_error(object);
    return fail(MPI_ERR_COMM, "{} cannot be freed", object->name);
  }
  if (const int error = core::delete_attributes(object->attributes, object->handle());
      error != MPI_SUCCESS) {
    attribute_error(object);
    return error;
  }
  drop(object);
  *comm = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

int Comm_disconnect(MPI_Comm* comm) {
  // Requests in flight keep the object, and no other job can be connected yet: there is nothing
  // more to wait for.
  return Comm_free(comm);
}

}  // namespace meantime::api
