// MPI 5.0 chapter 11.3: sessions and the sets of ranks they name.
#include "core/comm/session.h"

#include <strings.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "api/generated/calls.h"
#include "core/comm/group.h"
#include "core/error/error.h"
#include "core/object/memory_kinds.h"
#include "core/object/tables.h"
#include "core/start/use.h"
#include "node/control_client.h"
#include "settings/shown.h"

namespace meantime::api {
namespace {

constexpr const char* sets[] = {"mpi://WORLD", "mpi://SELF"};

struct Level {
  const char* name;
  int value;
};
constexpr Level levels[] = {
    {"MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
    {"MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
    {"MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED},
    {"MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE},
};

const Level* find_level(std::string_view name) {
  const auto* found = std::find_if(std::begin(levels), std::end(levels),
                                   [&](const Level& level) { return name == level.name; });
  return found != std::end(levels) ? found : nullptr;
}

const char* level_name(int value) {
  const auto* found = std::find_if(std::begin(levels), std::end(levels),
                                   [&](const Level& level) { return level.value == value; });
  return found != std::end(levels) ? found->name : "";
}

/// The group of a set, or nullptr. Capitals do not matter, as nowhere in such a name (RFC 3986).
Group* find_set(const char* name) {
  const Rank& rank = self();
  return strcasecmp(name, sets[0]) == 0   ? hold(*rank.all_ranks->group)
         : strcasecmp(name, sets[1]) == 0 ? hold(*rank.only_this->group)
                                          : nullptr;
}

}  // namespace

int Session_init(Info* info, Errhandler& errhandler, MPI_Session* session) {
  *session = MPI_SESSION_NULL;
  const std::string* level = info != nullptr ? info->find("thread_level") : nullptr;
  if (level != nullptr && find_level(*level) == nullptr) {
    return fail(MPI_ERR_INFO_VALUE, "thread_level is '{}', which is none of MPI's levels",
                settings::shown(*level));
  }
  Rank& rank = self();
  if (const int error =
          core::begin_use(rank, level != nullptr ? find_level(*level)->value : MPI_THREAD_SINGLE);
      error != MPI_SUCCESS) {
    return error;
  }
  if (rank.users == 1 && rank.control != nullptr) {
    rank.control->sessions_only(true);
  }
  auto* made = new Session;
  made->errhandler = hold(errhandler);
  made->info = core::duplicate(info);
  const std::string* kinds = made->info->find(core::memory_kinds_key);
  made->buffer->memory_kinds =
      core::supported_memory_kinds(kinds != nullptr ? *kinds : core::launchers_memory_kinds());
  made->info->set(core::memory_kinds_key, made->buffer->memory_kinds);
  made->info->set("thread_level", level_name(rank.thread_level));
  *session = made->handle();
  return MPI_SUCCESS;
}

int Session_finalize(MPI_Session* session) {
  Session* object = resolve(*session);
  if (object == nullptr) {
    return fail(MPI_ERR_SESSION, "there is no session to finalize");
  }
  if (self().phase.load() == Phase::forked) {
    *session = MPI_SESSION_NULL;
    return MPI_SUCCESS;
  }
  core::flush_buffer(object->buffer);  // MPI 5.0, 11.3.1: as if it were detached
  delete object;
  *session = MPI_SESSION_NULL;
  return core::end_use(self());
}

int Session_get_info(Session& session, MPI_Info* info_used) {
  *info_used = core::duplicate(session.info)->handle();
  return MPI_SUCCESS;
}

int Session_get_num_psets(Session& session, Info* info, int* npset_names) {
  *npset_names = static_cast<int>(std::size(sets));
  return MPI_SUCCESS;
}

int Session_get_nth_pset(Session& session, Info* info, int n, int* pset_len, char* pset_name) {
  if (n < 0 || n >= static_cast<int>(std::size(sets))) {
    return fail(MPI_ERR_ARG, "there is no process set number {} among {}", n, std::size(sets));
  }
  const std::string_view name = sets[n];
  if (*pset_len > 0 && pset_name == nullptr) {
    return fail(MPI_ERR_ARG, "argument 5 (pset_name) is NULL, though pset_len is {}", *pset_len);
  }
  if (*pset_len > 0) {
    const std::size_t copied = std::min<std::size_t>(name.size(), *pset_len - 1);
    std::memcpy(pset_name, name.data(), copied);
    pset_name[copied] = '\0';
  }
  *pset_len = static_cast<int>(name.size()) + 1;
  return MPI_SUCCESS;
}

int Session_get_pset_info(Session& session, const char* pset_name, MPI_Info* info) {
  Group* group = find_set(pset_name);
  if (group == nullptr) {
    return fail(MPI_ERR_ARG, "there is no process set \"{}\"", pset_name);
  }
  auto* made = new Info;
  made->set("mpi_size", std::to_string(group->size));
  drop(group);
  *info = made->handle();
  return MPI_SUCCESS;
}

int Group_from_session_pset(Session& session, const char* pset_name, MPI_Group* newgroup) {
  // Also the result where the error handler returns (MPI 5.0, 11.3.2).
  *newgroup = MPI_GROUP_NULL;
  Group* members = find_set(pset_name);
  if (members == nullptr) {
    return fail(MPI_ERR_ARG, "there is no process set \"{}\"", pset_name);
  }
  *newgroup = core::make_session_group(*members, session.buffer)->handle();
  drop(members);
  return MPI_SUCCESS;
}

// --- buffers for buffered sends on communicators that came from it

int Session_attach_buffer(Session& session, void* buffer, MPI_Count size) {
  return core::attach_buffer(session.buffer, buffer, size);
}

int Session_detach_buffer(Session& session, void* buffer_addr, MPI_Count* size) {
  return core::detach_buffer(session.buffer, static_cast<void**>(buffer_addr), size);
}

int Session_flush_buffer(Session& session) {
  return core::flush_buffer(session.buffer);
}

int Session_iflush_buffer(Session& session, MPI_Request* request) {
  *request = core::start_flush(session.buffer)->handle();
  return MPI_SUCCESS;
}

}  // namespace meantime::api
