#include "core/error/errhandler.h"

#include <memory>
#include <string>
#include <utility>

#include "core/comm/session.h"
#include "core/error/abort.h"
#include "core/error/callback.h"
#include "core/error/error.h"
#include "core/error/error_codes.h"
#include "core/error/handled_error.h"
#include "core/error/initial_errhandler.h"
#include "core/object/tables.h"
#include "core/object/window.h"
#include "deadlock/report.h"
#include "protocol/call_names.h"
#include "rank/rank.h"
#include "settings/shown.h"

namespace meantime::core {
namespace {

constinit thread_local const void* noted_caller = nullptr;

/// One line about a failure that ends the job. The place in it is named by who prints it
/// (symbolize/symbolized_text.h).
std::string obituary(std::string_view description, int code, const char* call,
                     std::string_view detail, const void* caller) {
  std::string line = call;
  if (!description.empty()) {
    line += fmt::format(" on {}", description);
  }
  const std::string_view name = error_name(code);
  line += name.empty() ? fmt::format(": error {}", code) : fmt::format(": {}", name);
  line += fmt::format(
      ": {}", settings::shown(detail.empty() ? error_text(code) : detail, settings::any_length));
  // Stale if this call is none that notes where it was called.
  const Rank& rank = self();
  const void* const site =
      caller != nullptr ? caller : rank.call_site.load(std::memory_order_relaxed);
  if (site != nullptr &&
      (site == caller || std::string_view(call_name(rank.call.load())) == call)) {
    line += fmt::format("; called from {}", wait::location_of_call(site));
  }
  return line;
}

std::string describe(Communicator& comm) {
  return !comm.name.empty() ? "communicator " + settings::shown(comm.name, settings::any_length)
         : !comm.origin.empty()
             ? settings::shown(std::string_view(comm.origin).substr(1), settings::any_length)
             : fmt::format("communicator {:#x} of {} ranks", comm.context, comm.size);
}

}  // namespace

int invoke_error_handler(Errhandler& handler, void* handle, std::string_view description, int code,
                         const char* call) {
  const std::string detail{error_detail()};
  const void* const caller = std::exchange(noted_caller, nullptr);
  set_error_detail({});
  keep_handled_error(code, call, detail);
  switch (handler.action) {
    case Errhandler::Action::return_code:
      return code;
    case Errhandler::Action::call: {
      // It may free the handler, or the object it was set on, or not come back.
      const std::unique_ptr<Errhandler, Drop> held(hold(handler));
      int reported = code;
      call_last([&] { handler.function(&handle, &reported, call, 0); });
      return code;
    }
    case Errhandler::Action::fatal:
    case Errhandler::Action::abort:
      break;
  }
  abort_job(code, obituary(description, code, call, detail, caller));
}

void note_caller(const void* site) {
  noted_caller = site;
}

int invoke_error_handler(Communicator* comm, int code, const char* call) {
  if (comm != nullptr) {
    return invoke_error_handler(*comm->errhandler, comm->handle(), describe(*comm), code, call);
  }
  // What is on no object fails on MPI_COMM_SELF, and while sessions outlast it on what it was; with
  // no world, or when all is over, the initial handler has it (MPI 5.0, 9.3).
  Communicator* alone = self().users > 0 ? self().only_this : nullptr;
  if (alone != nullptr) {
    // Up to MPI 3.1 such failures were raised on MPI_COMM_WORLD, and programs still set that one's
    // handler alone: it counts as long as nobody touched MPI_COMM_SELF's.
    if (alone->errhandler == &initial_errhandler()) {
      Errhandler* worlds = self().all_ranks->errhandler;
      return invoke_error_handler(*worlds, MPI_COMM_WORLD, "", code, call);
    }
    return invoke_error_handler(*alone->errhandler, alone->handle(), "", code, call);
  }
  return invoke_error_handler(initial_errhandler(), MPI_COMM_SELF, "", code, call);
}

int invoke_error_handler(Session& session, int code, const char* call) {
  return invoke_error_handler(*session.errhandler, session.handle(), "a session", code, call);
}

int invoke_error_handler(Window& window, int code, const char* call) {
  const std::string description =
      window.name.empty() ? fmt::format("a window of {} ranks", window.team->size)
                          : "window " + settings::shown(window.name, settings::any_length);
  return invoke_error_handler(*window.errhandler, window.handle(), description, code, call);
}

int invoke_file_error_handler(int code, const char* call) {
  return invoke_error_handler(*tables().files, MPI_FILE_NULL, "MPI_FILE_NULL", code, call);
}

}  // namespace meantime::core
