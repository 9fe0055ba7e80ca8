#include "api/entry.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "base/version.h"
#include "core/error/errhandler.h"
#include "core/error/error.h"
#include "core/error/error_attribution.h"
#include "core/object/handle_names.h"
#include "core/request/helper.h"
#include "core/start/settings.h"
#include "deadlock/report.h"
#include "protocol/call_names.h"
#include "protocol/control.h"
#include "rank/rank_of_thread.h"
#include "scheduling/worker.h"
#include "settings/shown.h"
#include "symbolize/symbolized_text.h"

namespace meantime::api {
namespace {

/// "argument 4 (dest)"
std::string argument(ArgumentPosition at) {
  return fmt::format("argument {} ({})", at.position, at.name);
}

/// Asked before a value is called wrong. What a call cannot do without, an object behind a handle
/// or a place for its result, is asked for with MEANTIME_CHECKS=0, too.
bool checks_are_off() {
  return !core::argument_checks.load(std::memory_order_relaxed);
}

/// Of a call that this version does not have: what is missing, and what to do without it. The call
/// itself is named by whoever prints this. Ends the job, unless MEANTIME_MISSING_CALLS says error.
int not_part_of_meantime(const char* call) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> parts) {
    return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
      return std::string_view(call).find(part) != std::string_view::npos;
    });
  };
  const char* const what =
      is_one_of({"MPI_File_", "_datarep"})
          ? "files (MPI-IO): let ranks write files of their own, or gather and let one write"
      : is_one_of({"_spawn", "_port", "_accept", "_connect", "_join", "_name"})
          ? "starting and connecting processes: let mpiexec start all ranks, ':' separates programs"
      : is_one_of({"_lock", "_unlock", "_flush"})
          ? "locks of windows: between accesses to memory that ranks share call MPI_Win_fence, or "
            "MPI_Win_sync, a barrier and MPI_Win_sync"
      : is_one_of({"Win_post", "Win_start", "Win_complete", "Win_wait", "Win_test"})
          ? "synchronisation of windows but for MPI_Win_fence: use that"
          : "one-sided transfers: send messages, or let ranks share memory "
            "(MPI_Win_allocate_shared)";
  const bool ends = core::missing_calls_end.load(std::memory_order_relaxed);
  const int code = fail(MPI_ERR_UNSUPPORTED_OPERATION,
                        "this call is not part of Meantime {}, which has no {} (`meantime missing "
                        "PROGRAM` lists a program's calls of this kind{})",
                        version, what,
                        ends ? "; with MEANTIME_MISSING_CALLS=error they go to the error handler "
                               "instead of ending the job"
                             : "");
  return ends ? core::invoke_error_handler(*resolve(MPI_ERRORS_ARE_FATAL), nullptr, "", code, call)
              : code;
}

/// What a child that the rank has forked may ask, or say: it is about this process alone.
bool is_for_children(Call call) {
  switch (call) {
    case Call::Comm_get_name:
    case Call::Comm_rank:
    case Call::Comm_size:
    case Call::Finalize:
    case Call::Get_count:
    case Call::Get_processor_name:
    case Call::Is_thread_main:
    case Call::Query_thread:
    case Call::Type_size:
      return true;
    default:
      return false;
  }
}

std::string name_of(const Communicator& comm) {
  return comm.name.empty() ? "the communicator" : comm.name;
}

/// "rank 3 (pid 4711): ", of a rank of a job, also where MPI is not there yet or no more.
std::string rank_in_front(const Rank& rank) {
  if (rank.phase.load() == Phase::forked) {
    return {};
  }
  if (rank.fiber != nullptr || rank.world_size > 1) {
    return fmt::format("rank {} (pid {}): ", rank.world_rank, getpid());
  }
  const char* const number = std::getenv(launch::rank_variable);
  const char* const pid = std::getenv(launch::rank_pid_variable);
  return number != nullptr && pid != nullptr && std::strtol(pid, nullptr, 10) == getpid()
             ? fmt::format("rank {} (pid {}): ", settings::shown(number), pid)
             : std::string();
}

}  // namespace

constinit thread_local const void* announced_site = nullptr;

int Entry::report(int code) {
  const char* name = call_name(static_cast<std::uint16_t>(call_));
  if (on_session_ != nullptr) {
    return core::invoke_error_handler(*on_session_, code, name);
  }
  if (on_window_ != nullptr) {
    return core::invoke_error_handler(*on_window_, code, name);
  }
  if (on_result_ != nullptr) {
    drop(take_attribution());
    void* const none = on_result_->of == Errhandler::Of::session
                           ? static_cast<void*>(MPI_SESSION_NULL)
                           : static_cast<void*>(MPI_COMM_NULL);
    return core::invoke_error_handler(*on_result_, none, "", code, name);
  }
  // The handler may not come back.
  const std::unique_ptr<Communicator, Drop> attributed(take_attribution());
  return core::invoke_error_handler(on_ != nullptr ? on_ : attributed.get(), code, name);
}

/// So it is not there for the calls of callbacks inside this one.
const void* Entry::take_announced_site() {
  return std::exchange(announced_site, nullptr);
}

void Entry::leave_locked() {
  while (kept_count_ > 0) {
    Object* const object = kept_[--kept_count_];
    switch (object->kind) {
      case Kind::datatype:
        drop(static_cast<Datatype*>(object));
        break;
      case Kind::op:
        drop(static_cast<Op*>(object));
        break;
      case Kind::group:
        drop(static_cast<Group*>(object));
        break;
      case Kind::info:
        drop(static_cast<Info*>(object));
        break;
      case Kind::errhandler:
        drop(static_cast<Errhandler*>(object));
        break;
      default:
        break;
    }
  }
  if (kept_types_ != nullptr) {
    for (Datatype* const type : *kept_types_) {
      drop(type);
    }
    delete kept_types_;
  }
  if (rank_.lock.enabled()) {  // else the main thread may be in MPI, without the lock
    core::hand_over_background(rank_);
  }
  if (core::host_helper != nullptr) {
    core::host_helper->take_over(rank_);
  }
  rank_.lock.unlock();
  if (net::network() != nullptr) [[unlikely]] {
    core::take_what_others_queued(rank_);
  }
}

void Entry::throw_kept() {
  drop(take_attribution());
  core::release_thrown();
  __builtin_unreachable();
}

int Entry::caught() {
  if (core::is_passing()) {
    core::forget_thrown();
    throw;
  }
  if (core::thrown.kept != nullptr) {
    throw_kept();
  }
  try {
    throw;
  } catch (const abi::__forced_unwind&) {
    throw;  // pthread_cancel, pthread_exit: not for us to stop
  } catch (const std::bad_alloc&) {
    return report(fail(MPI_ERR_NO_MEM, "out of memory"));
  } catch (const std::exception& exception) {
    return report(fail(MPI_ERR_INTERN, "{}", exception.what()));
  } catch (...) {
    return report(fail(MPI_ERR_INTERN, "an exception of an unknown type"));
  }
}

void Entry::check_phase(const void* site) {
  const Phase phase = rank_of_thread().phase.load(std::memory_order_relaxed);
  if (phase == Phase::forked && is_for_children(call_)) {
    return;
  }
  const bool up = phase == Phase::active || phase == Phase::finalizing;
  if (!up || (call_ != Call::Query_thread && call_ != Call::Is_thread_main)) {
    end_of_program(site);
  }
}

// Of several threads without a lock one may be lost.
void Entry::count_call() {
  if (rank_.area != nullptr) {
    std::atomic<std::uint64_t>& calls = rank_.area->account.guest_work.calls;
    calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
}

void Entry::end_of_program(const void* site) {
  const bool no_rank = rank_.fiber == nullptr && ranks::worker_count() > 0;
  const bool by_guest = rank_.phase.load() == Phase::guest;
  const char* when =
      by_guest  ? "by guest work, which is in the middle of a wait of a rank's"
      : no_rank ? "by a thread that is no rank (thread ranks have MPI_THREAD_FUNNELED)"
      : rank_.phase.load() == Phase::forked ? "by a child that a rank has forked, which is no rank"
      : rank_.world_finalized               ? "after MPI_Finalize"
      : rank_.phase.load() == Phase::away   ? "after the last session was finalized"
                                            : "before MPI_Init";
  std::string line =
      fmt::format("Meantime: {}{} was called {}; called from {}\n", rank_in_front(rank_),
                  call_name(static_cast<std::uint16_t>(call_)), when, wait::location_of_call(site));
  if (getauxval(AT_SECURE) == 0) {  // as in core/error/abort.cpp; mpiexec is not told of this
    line = launch::symbolized(line, getpid());
  }
  std::fputs(settings::shown_lines(line).c_str(), stderr);
  std::fflush(nullptr);
  std::_Exit(EXIT_FAILURE);
}

int Entry::not_there_yet() {
  return report(not_part_of_meantime(call_name(static_cast<std::uint16_t>(call_))));
}

int Entry::file_call_not_there_yet() {
  const char* const name = call_name(static_cast<std::uint16_t>(call_));
  return core::invoke_file_error_handler(not_part_of_meantime(name), name);
}

void Entry::about(MPI_Comm handle) {
  on_ = resolve(handle);
}

bool Entry::reject(int error_class) {
  rejection_ = error_class;
  return false;
}

bool Entry::narrow(ArgumentPosition at, MPI_Count value, int* result) {
  *result = static_cast<int>(value);
  return *result == value ||
         reject(fail(MPI_ERR_VALUE_TOO_LARGE, "{} would be {}, which is no int: use {}_c",
                     argument(at), value, call_name(static_cast<std::uint16_t>(call_))));
}

bool Entry::bad_handle(int error_class, ArgumentPosition at, const void* handle, bool is_null) {
  if (error_class == MPI_ERR_COMM && (handle == MPI_COMM_WORLD || handle == MPI_COMM_SELF)) {
    return reject(fail(error_class, "{} is {}, which there is from MPI_Init until MPI_Finalize",
                       argument(at), handle_name(handle)));
  }
  return reject(is_null ? fail(error_class, "{} is {}", argument(at), handle_name(handle))
                        : fail(error_class, "{} is {}, which is no handle of that type",
                               argument(at), handle_name(handle)));
}

bool Entry::bad_communicator_kind(ArgumentPosition at, bool wants_intra) {
  return reject(
      fail(MPI_ERR_COMM, "{} is an int{}communicator", argument(at), wants_intra ? "er" : "ra"));
}

bool Entry::uncommitted(ArgumentPosition at) {
  return reject(fail(MPI_ERR_TYPE, "{} is a datatype that was not committed", argument(at)));
}

bool Entry::no_type_of(MPI_Count count, ArgumentPosition at, MPI_Datatype handle,
                       Datatype*& object) {
  if (count == 0 && handle == MPI_DATATYPE_NULL) {
    object = unused_type();
    return true;
  }
  return committed_type(at, handle, object);
}

bool Entry::types(ArgumentPosition at, const MPI_Datatype* handles, MPI_Count count) {
  for (MPI_Count i = 0; i < count; ++i) {
    if (resolve(handles[i]) == nullptr) {
      return reject(fail(MPI_ERR_TYPE, "{}: entry {} is {}, which is no datatype", argument(at), i,
                         handle_name(handles[i])));
    }
  }
  return true;
}

bool Entry::committed_types(ArgumentPosition at, const MPI_Datatype* handles, Counts counts,
                            MPI_Count count) {
  for (MPI_Count i = 0; i < count; ++i) {
    if (counts[i] == 0) {
      continue;
    }
    if (handles == nullptr) {
      return missing(MPI_ERR_ARG, at);
    }
    Datatype* type = resolve(handles[i]);
    if (type == nullptr || !type->committed) {
      return reject(fail(MPI_ERR_TYPE, "{}: entry {} is {}, which is no committed datatype",
                         argument(at), i, handle_name(handles[i])));
    }
    if (locked_ && !type->predefined) {
      if (kept_types_ == nullptr) {
        kept_types_ = new std::vector<Datatype*>;
      }
      kept_types_->push_back(type);
      hold(*type);
    }
  }
  return true;
}

bool Entry::requests(ArgumentPosition at, const MPI_Request* handles, MPI_Count count,
                     bool null_allowed) {
  for (MPI_Count i = 0; i < count; ++i) {
    if (handles[i] == MPI_REQUEST_NULL ? !null_allowed : resolve(handles[i]) == nullptr) {
      return reject(fail(MPI_ERR_REQUEST, "{}: entry {} is {}, which is no request", argument(at),
                         i, handle_name(handles[i])));
    }
  }
  return true;
}

bool Entry::bad_rank(int error_class, ArgumentPosition at, int rank, const Communicator& comm,
                     int limit) {
  if (checks_are_off()) {
    return true;
  }
  return reject(fail(error_class, "{} is {}, but {} has {} {}{}", argument(at), rank, name_of(comm),
                     limit, comm.is_inter() ? "remote " : "", limit == 1 ? "rank" : "ranks"));
}

bool Entry::bad_tag(ArgumentPosition at, int tag) {
  if (checks_are_off()) {
    return true;
  }
  return reject(tag == MPI_ANY_TAG
                    ? fail(MPI_ERR_TAG, "{} is MPI_ANY_TAG, which is for receives", argument(at))
                    : fail(MPI_ERR_TAG, "{} is {}, but tags go from 0 to {}", argument(at), tag,
                           core::highest_user_tag));
}

bool Entry::negative(int error_class, ArgumentPosition at, MPI_Count value) {
  if (checks_are_off()) {
    return true;
  }
  return reject(fail(error_class, "{} is {}, but cannot be negative", argument(at), value));
}

bool Entry::counts(ArgumentPosition at, Counts values, MPI_Count count) {
  if (!values) {
    return count == 0 || missing(MPI_ERR_ARG, at);
  }
  for (MPI_Count i = 0; i < count; ++i) {
    if (values[i] < 0) {
      if (checks_are_off()) {
        return true;
      }
      return reject(fail(MPI_ERR_COUNT, "{}: entry {} is {}, but cannot be negative", argument(at),
                         i, values[i]));
    }
  }
  return true;
}

bool Entry::any(Counts values, MPI_Count count) {
  for (MPI_Count i = 0; i < count; ++i) {
    if (values[i] != 0) {
      return true;
    }
  }
  return false;
}

bool Entry::countable(ArgumentPosition at, Counts values, MPI_Count count, const Datatype& type) {
  for (MPI_Count i = 0; values && i < count; ++i) {
    if (!countable(at, values[i], type)) {
      return false;
    }
  }
  return true;
}

bool Entry::countable(ArgumentPosition at, Counts values, MPI_Count count,
                      const MPI_Datatype* types) {
  for (MPI_Count i = 0; values && i < count; ++i) {
    if (values[i] != 0 && !countable(at, values[i], *resolve(types[i]))) {
      return false;
    }
  }
  return true;
}

bool Entry::uncountable(ArgumentPosition at, MPI_Count value, const Datatype& type) {
  if (checks_are_off()) {
    return true;
  }
  return reject(fail(MPI_ERR_COUNT, "{} is {} elements of {} bytes, more than can be counted",
                     argument(at), value, type.size));
}

bool Entry::special_buffer(ArgumentPosition at, const void* address, MPI_Count count,
                           MPI_Datatype type) {
  if (checks_are_off()) {
    return true;
  }
  if (address == MPI_IN_PLACE) {
    return reject(
        fail(MPI_ERR_BUFFER, "{} is MPI_IN_PLACE, which is not for this argument", argument(at)));
  }
  if (address == MPI_BOTTOM && (count == 0 || resolve(type)->holds_addresses())) {
    return true;
  }
  return reject(fail(MPI_ERR_BUFFER, "{} is {}, which is no buffer for {} elements of {}",
                     argument(at), address == MPI_BOTTOM ? "NULL" : "MPI_BUFFER_AUTOMATIC", count,
                     handle_name(type)));
}

bool Entry::buffer_of(ArgumentPosition at, const void* address, Counts counts, MPI_Count count,
                      const MPI_Datatype* types) {
  if (reinterpret_cast<std::uintptr_t>(address) > 2) {
    return true;
  }
  // NULL is MPI_BOTTOM if all types with elements have addresses in them.
  for (MPI_Count i = 0; i < count; ++i) {
    if (counts[i] != 0 && !resolve(types[i])->holds_addresses()) {
      return special_buffer(at, address, counts[i], types[i]);
    }
  }
  return special_buffer(at, address, 0, MPI_DATATYPE_NULL);
}

bool Entry::aliased() {
  if (checks_are_off()) {
    return true;
  }
  return reject(fail(MPI_ERR_BUFFER,
                     "the send and the receive buffer are the same memory; say "
                     "MPI_IN_PLACE if that is meant"));
}

bool Entry::missing(int error_class, ArgumentPosition at) {
  return reject(fail(error_class, "{} is NULL", argument(at)));
}

}  // namespace meantime::api

/// For bindings of other languages: the calling thread's next MPI call is made for `site`, an
/// address in the user's program. The ledger, lists of deadlocks and the prediction of waits then
/// name the user's line, not the binding's. Any time, any thread; costs a store.
extern "C" __attribute__((visibility("default"))) void meantime_announce_call_site(
    const void* site) {
  meantime::api::announced_site = site;
}
