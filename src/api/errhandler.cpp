// MPI 5.0 chapter 9.3: error handlers of communicators, sessions and windows, and of MPI_FILE_NULL,
// which new files get.
#include "core/error/errhandler.h"

#include "api/generated/calls.h"
#include "core/comm/communicator.h"
#include "core/comm/session.h"
#include "core/error/error.h"
#include "core/object/tables.h"
#include "core/object/window.h"
#include "protocol/call_names.h"

namespace meantime::api {
namespace {

using Of = Errhandler::Of;

template <class Function>
int make(Of of, Function* function, MPI_Errhandler* errhandler) {
  auto* made = new Errhandler(Errhandler::Action::call, of);
  // The four kinds differ in the type of the handle they point to alone.
  made->function = reinterpret_cast<Errhandler::Function*>(function);
  *errhandler = made->handle();
  return MPI_SUCCESS;
}

/// The user's reference; predefined ones need none, and may be freed all the same.
MPI_Errhandler give(Errhandler& errhandler) {
  if (errhandler.constant == MPI_ERRHANDLER_NULL) {
    errhandler.retain();
  }
  return errhandler.handle();
}

int put(Errhandler*& place, Errhandler& errhandler, Of of, const char* kind) {
  if (errhandler.of != Of::any && errhandler.of != of) {
    return fail(MPI_ERR_ERRHANDLER, "this is no error handler for {}", kind);
  }
  hold(errhandler);
  drop(place);
  place = &errhandler;
  return MPI_SUCCESS;
}

const char* current_call() {
  return call_name(self().call.load(std::memory_order_relaxed));
}

}  // namespace

int Comm_create_errhandler(MPI_Comm_errhandler_function* comm_errhandler_fn,
                           MPI_Errhandler* errhandler) {
  return make(Of::communicator, comm_errhandler_fn, errhandler);
}

int Comm_set_errhandler(Communicator& comm, Errhandler& errhandler) {
  return put(comm.errhandler, errhandler, Of::communicator, "communicators");
}

int Comm_get_errhandler(Communicator& comm, MPI_Errhandler* errhandler) {
  *errhandler = give(*comm.errhandler);
  return MPI_SUCCESS;
}

int Comm_call_errhandler(Communicator& comm, int errorcode) {
  core::invoke_error_handler(&comm, errorcode, current_call());
  return MPI_SUCCESS;
}

int Session_create_errhandler(MPI_Session_errhandler_function* session_errhandler_fn,
                              MPI_Errhandler* errhandler) {
  return make(Of::session, session_errhandler_fn, errhandler);
}

int Session_set_errhandler(Session& session, Errhandler& errhandler) {
  return put(session.errhandler, errhandler, Of::session, "sessions");
}

int Session_get_errhandler(Session& session, MPI_Errhandler* errhandler) {
  *errhandler = give(*session.errhandler);
  return MPI_SUCCESS;
}

int Session_call_errhandler(Session& session, int errorcode) {
  core::invoke_error_handler(session, errorcode, current_call());
  return MPI_SUCCESS;
}

int Win_create_errhandler(MPI_Win_errhandler_function* win_errhandler_fn,
                          MPI_Errhandler* errhandler) {
  return make(Of::window, win_errhandler_fn, errhandler);
}

int Win_set_errhandler(Window& win, Errhandler& errhandler) {
  return put(win.errhandler, errhandler, Of::window, "windows");
}

int Win_get_errhandler(Window& win, MPI_Errhandler* errhandler) {
  *errhandler = give(*win.errhandler);
  return MPI_SUCCESS;
}

int Win_call_errhandler(Window& win, int errorcode) {
  core::invoke_error_handler(win, errorcode, current_call());
  return MPI_SUCCESS;
}

int File_create_errhandler(MPI_File_errhandler_function* file_errhandler_fn,
                           MPI_Errhandler* errhandler) {
  return make(Of::file, file_errhandler_fn, errhandler);
}

namespace {

int check_file(MPI_File file) {
  return file == MPI_FILE_NULL ? MPI_SUCCESS
                               : fail(MPI_ERR_FILE, "there are no files yet, only MPI_FILE_NULL");
}

}  // namespace

int File_set_errhandler(MPI_File file, Errhandler& errhandler) {
  const int error = check_file(file);
  return error != MPI_SUCCESS ? error : put(core::tables().files, errhandler, Of::file, "files");
}

int File_get_errhandler(MPI_File file, MPI_Errhandler* errhandler) {
  const int error = check_file(file);
  if (error == MPI_SUCCESS) {
    *errhandler = give(*core::tables().files);
  }
  return error;
}

int File_call_errhandler(MPI_File fh, int errorcode) {
  const int error = check_file(fh);
  if (error == MPI_SUCCESS) {
    core::invoke_file_error_handler(errorcode, current_call());
  }
  return error;
}

int Errhandler_free(MPI_Errhandler* errhandler) {
  Errhandler* object = resolve(*errhandler);
  if (object == nullptr) {
    return fail(MPI_ERR_ERRHANDLER, "there is no error handler to free");
  }
  if (object->constant == MPI_ERRHANDLER_NULL) {
    drop(object);
  }
  *errhandler = MPI_ERRHANDLER_NULL;
  return MPI_SUCCESS;
}

}  // namespace meantime::api
