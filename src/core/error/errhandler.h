// Error handlers: what happens when a call fails.
//   failure   an MPI error code, the call that met it, the object that the call was on
// A call on no object raises its failure on MPI_COMM_SELF (MPI 5.0 9.3). Knows nothing of how the
// entry points find the failing object.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string_view>

#include "core/object/object.h"

namespace meantime {

struct Communicator;
struct Session;
struct Window;

struct Errhandler : Object {
  static constexpr Kind object_kind = Kind::errhandler;
  enum class Action : std::uint8_t { fatal, abort, return_code, call };
  enum class Of : std::uint8_t { any, communicator, window, file, session };
  /// The user's function as all four kinds of them look to a caller.
  using Function = void(void* handle, int* code, ...);

  Errhandler(Action action, Of of) : Object(Kind::errhandler), action(action), of(of) {}
  ~Errhandler() = default;

  Action action;
  Of of;
  Function* function = nullptr;
  MPI_Errhandler constant = MPI_ERRHANDLER_NULL;  ///< of a predefined one

  MPI_Errhandler handle() {
    return constant != MPI_ERRHANDLER_NULL ? constant : reinterpret_cast<MPI_Errhandler>(this);
  }
};

inline Errhandler* hold(Errhandler& handler) {
  handler.retain();
  return &handler;
}
inline void drop(Errhandler* handler) {
  if (handler != nullptr && handler->release()) {
    delete handler;
  }
}

namespace core {

/// Runs `handler` for a failure on the object whose MPI handle is `handle` and that reports call
/// `description` ("communicator MPI_COMM_WORLD"). Takes the thread's error detail. Returns the code
/// that the call shall return, if the handler lets it.
int invoke_error_handler(Errhandler& handler, void* handle, std::string_view description, int code,
                         const char* call);
/// On a communicator; on MPI_COMM_SELF if `comm` is nullptr (or on MPI_COMM_WORLD, as MPI had it
/// before 4.0, if only that has another handler than the initial one).
int invoke_error_handler(Communicator* comm, int code, const char* call);
int invoke_error_handler(Session& session, int code, const char* call);
int invoke_error_handler(Window& window, int code, const char* call);
/// For a call that is not in the table of calls (MPIX_...): where this thread's next failure was
/// called from.
void note_caller(const void* site);
/// MPI_FILE_NULL's: for calls that open files, and for those on no file.
int invoke_file_error_handler(int code, const char* call);

}  // namespace core
}  // namespace meantime
