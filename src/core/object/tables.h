// What a rank has of objects from its start: the predefined ones that are its own, its attribute
// keys and its own error codes; and the way from a handle to the object of this rank.
// Exists before MPI_Init, because infos, error handlers and sessions may be made there.
#pragma once

#include <mpi.h>

#include <map>
#include <memory>
#include <string>

#include "core/comm/communicator.h"
#include "core/comm/group.h"
#include "core/error/errhandler.h"
#include "core/object/attribute.h"
#include "core/object/info.h"
#include "core/object/integer_handles.h"
#include "rank/rank.h"

namespace meantime {

struct Datatype;
struct Session;

namespace core {

/// Error classes and codes that the user made (MPI_Add_error_class …).
struct ErrorCodes {
  struct Code {
    int error_class;
    std::string text;
  };
  std::map<int, Code> codes;         ///< classes too: their class is themselves
  int last_used = MPI_ERR_LASTCODE;  ///< the attribute MPI_LASTUSEDCODE points here
};

/// What a Fortran binding stores as .true. and .false. (MPI_Abi_set_fortran_booleans).
struct FortranBooleans {
  int size = 0;  ///< bytes of a LOGICAL; 0: nobody told
  char true_bytes[16];
  char false_bytes[16];
};

struct Tables {
  Tables();
  ~Tables();

  Group empty_group;
  Errhandler fatal{Errhandler::Action::fatal, Errhandler::Of::any};
  Errhandler abort{Errhandler::Action::abort, Errhandler::Of::any};
  Errhandler returns{Errhandler::Action::return_code, Errhandler::Of::any};
  Errhandler* files = hold(returns);  ///< MPI_FILE_NULL's: that of files when they are opened
  Info* environment = nullptr;        ///< behind MPI_INFO_ENV; made when first asked for

  struct Key {
    std::weak_ptr<Keyval> keyval;
    std::shared_ptr<Keyval> users;  ///< until the user frees it; attributes hold it too
  };
  std::map<int, Key> keyvals;
  std::map<const Datatype*, std::unique_ptr<AttributeTable>> named_type_attributes;
  int next_keyval = 0;
  ErrorCodes error_codes;
  IntegerHandles integer_handles;
  FortranBooleans fortran_booleans;
  /// What was said of the rank's energy handlers, for the next one not to say it again.
  struct {
    bool slow = false;
    bool nonsense = false;
  } energy_complaints;
  int tool_users = 0;  ///< MPI_T_init_thread calls without their MPI_T_finalize
  std::map<const Datatype*, std::string> predefined_type_names;  ///< those that the user renamed

  // What the predefined attributes of communicators point to.
  int tag_ub = 0;
  int host = MPI_PROC_NULL;
  int io = MPI_ANY_SOURCE;
  int wtime_is_global = 1;  ///< CLOCK_MONOTONIC is one clock for the node
  int appnum = 0;
  int universe_size = 1;
};

/// The rank's tables; made by the first who asks, and kept after MPI_Finalize.
Tables& make_tables(Rank& rank);
inline Tables& tables() {
  Rank& rank = self();
  return rank.tables != nullptr ? *rank.tables : make_tables(rank);
}
/// The info behind MPI_INFO_ENV.
Info* environment_info();

/// Builds MPI_COMM_WORLD and MPI_COMM_SELF of `rank`. The segment is mapped; world_rank and
/// world_size are known. Communicates with nobody. For MPI_Init and the first session.
int make_world(Rank& rank);
/// MPI_Finalize's first step: deletes MPI_COMM_SELF's attributes, last set first, while MPI still
/// works (MPI 5.0 11.2.4), then MPI_COMM_WORLD's. Returns the first error of a user's delete
/// function.
int delete_final_attributes(Rank& rank);
/// Those of the named datatypes, when the rank's last use of MPI ends.
int delete_named_types_attributes();
/// Gives back what make_world built, after the last communication.
void free_world(Rank& rank);

}  // namespace core

// The object of this rank behind a handle; nullptr for the null handle and for what is none.

inline Communicator* resolve(MPI_Comm handle) {
  if (!is_predefined(handle)) {
    return object_behind<Communicator>(handle);
  }
  Rank& rank = self();
  return handle == MPI_COMM_WORLD ? rank.world : handle == MPI_COMM_SELF ? rank.alone : nullptr;
}

inline Group* resolve(MPI_Group handle) {
  return handle == MPI_GROUP_EMPTY ? &core::tables().empty_group : object_behind<Group>(handle);
}

inline Errhandler* resolve(MPI_Errhandler handle) {
  if (!is_predefined(handle)) {
    return object_behind<Errhandler>(handle);
  }
  core::Tables& tables = core::tables();
  return handle == MPI_ERRORS_ARE_FATAL ? &tables.fatal
         : handle == MPI_ERRORS_ABORT   ? &tables.abort
         : handle == MPI_ERRORS_RETURN  ? &tables.returns
                                        : nullptr;
}

inline Info* resolve(MPI_Info handle) {
  return handle == MPI_INFO_ENV ? core::environment_info() : object_behind<Info>(handle);
}

Session* resolve(MPI_Session handle);

}  // namespace meantime
