// What meantime.h adds to MPI.
#include <meantime.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "api/entry_point.h"
#include "core/error/errhandler.h"
#include "core/error/error.h"
#include "core/start/energy.h"
#include "core/start/settings.h"
#include "ledger/changes.h"
#include "rank/clocks.h"
#include "rank/counters.h"
#include "rank/rank.h"
#include "scheduling/worker.h"
#include "wait/give_way.h"

// The header's macros are for callers.
#undef MPIX_Yield
#undef MPIX_Stay
#undef MPIX_Rtime
#undef MPIX_Start_processor_timer
#undef MPIX_Stop_processor_timer
#undef MPIX_Ptime
#undef MPIX_Counter_start
#undef MPIX_Counter_stop
#undef MPIX_Counter_read
#undef MPIX_Energy_handler_reg
#undef MPIX_Energy_handler_dereg
#undef MPIX_Setting_set
#undef MPIX_Setting_get

namespace meantime {
namespace {

bool is_active() {
  return self().phase.load(std::memory_order_relaxed) == Phase::active;
}

/// To the handler of MPI_COMM_SELF, as far as there is one. `caller`: the user's call.
int report(const char* call, const void* caller, int code) {
  if (!is_active()) {
    return code;
  }
  core::note_caller(caller);
  return core::invoke_error_handler(nullptr, code, call);
}

/// A setting of that name, for a rank that is in MPI; else the error in *code.
const settings::Setting* setting_of(const char* name, int* code) {
  const settings::Setting* setting = name != nullptr ? settings::find(name) : nullptr;
  if (!is_active()) {
    *code = fail(MPI_ERR_OTHER, "settings can be asked for between MPI_Init and MPI_Finalize");
    return nullptr;
  }
  if (setting == nullptr) {
    *code = fail(MPI_ERR_ARG, "there is no setting '{}' (meantime config lists them)",
                 name != nullptr ? name : "NULL");
  }
  return setting;
}

int change_setting(const char* name, const char* value) {
  int code = MPI_SUCCESS;
  const settings::Setting* setting = setting_of(name, &code);
  if (setting == nullptr) {
    return code;
  }
  if (value == nullptr) {
    return fail(MPI_ERR_ARG, "the value of {} is NULL", name);
  }
  const std::string wrong = core::change_setting(self(), *setting, value);
  return wrong.empty() ? MPI_SUCCESS : fail(MPI_ERR_ARG, "{}", wrong);
}

int tell_setting(const char* name, int* length, char* value) {
  int code = MPI_SUCCESS;
  const settings::Setting* setting = setting_of(name, &code);
  if (setting == nullptr) {
    return code;
  }
  if (length == nullptr || *length < 0 || (*length > 0 && value == nullptr)) {
    return fail(MPI_ERR_ARG, "the place for the value of {} is NULL, or its length negative", name);
  }
  const std::string text = core::setting_in_effect(self(), *setting);
  if (*length > 0) {
    const std::size_t fits = std::min(text.size(), static_cast<std::size_t>(*length - 1));
    std::memcpy(value, text.data(), fits);
    value[fits] = '\0';
  }
  *length = static_cast<int>(text.size()) + 1;
  return MPI_SUCCESS;
}

int outside_of_mpi() {
  return fail(MPI_ERR_OTHER, "energy handlers are for ranks between MPI_Init and MPI_Finalize");
}

/// The number of the event of that name; -1 with the error in *code.
int counter_of(const char* name, int* code) {
  const int event = name != nullptr ? ranks::counter_event(name) : -1;
  if (event < 0) {
    *code = fail(MPI_ERR_ARG, "there is no event '{}' (docs/reference/clocks.md has their names)",
                 name != nullptr ? name : "NULL");
  }
  return event;
}

int start_counter(const char* name) {
  int code = MPI_SUCCESS;
  const int event = counter_of(name, &code);
  if (event < 0) {
    return code;
  }
  if (ranks::counter_is_started(event)) {
    return fail(MPI_ERR_OTHER, "'{}' is counted already: MPIX_Counter_stop ends that", name);
  }
  const int error = ranks::start_counter(event);
  if (error == 0) {
    return MPI_SUCCESS;
  }
  return fail(error == EACCES || error == EPERM ? MPI_ERR_ACCESS : MPI_ERR_UNSUPPORTED_OPERATION,
              "{}", ranks::why_not_counted(event, error));
}

int stop_counter(const char* name) {
  int code = MPI_SUCCESS;
  const int event = counter_of(name, &code);
  if (event < 0) {
    return code;
  }
  if (!ranks::counter_is_started(event)) {
    return fail(MPI_ERR_OTHER, "'{}' is not counted: MPIX_Counter_start begins that", name);
  }
  ranks::stop_counter(event);
  return MPI_SUCCESS;
}

int read_counter(const char* name, MPI_Count* rank, MPI_Count* core) {
  int code = MPI_SUCCESS;
  const int event = counter_of(name, &code);
  if (event < 0) {
    return code;
  }
  ranks::CounterReading reading;
  if (!ranks::read_counter(event, reading)) {
    return fail(
        MPI_ERR_UNSUPPORTED_OPERATION,
        "'{}' could not be started, or not be read all the time: the machine does not count "
        "it, another user of the processor's counters has them, or no descriptor was free",
        name);
  }
  if (rank != nullptr) {
    *rank = static_cast<MPI_Count>(reading.rank);
  }
  if (core != nullptr) {
    *core = static_cast<MPI_Count>(reading.core);
  }
  return MPI_SUCCESS;
}

/// Calls the function, and gives an error to the error handler.
template <class Function>
int counted(const char* call, const void* caller, Function&& function) {
  int code;
  try {
    code = function();
  } catch (...) {
    code = MPI_ERR_NO_MEM;
  }
  return code == MPI_SUCCESS ? code : report(call, caller, code);
}

/// Calls the function with the rank's lock held, and gives an error to the error handler without.
template <class Function>
int guarded(const char* call, const void* caller, Function&& function) {
  Rank& rank = self();
  rank.lock.lock();
  int code;
  try {
    code = function();
  } catch (...) {
    code = MPI_ERR_NO_MEM;
  }
  rank.lock.unlock();
  return code == MPI_SUCCESS ? code : report(call, caller, code);
}

}  // namespace
}  // namespace meantime

using namespace meantime;

MEANTIME_ENTRY_POINT int MPIX_Yield(void) {
  if (is_active()) {
    wait::give_way();
  } else {
    sched_yield();
  }
  return MPI_SUCCESS;
}

MEANTIME_ENTRY_POINT int MPIX_Stay(int stay) {
  ranks::stay(stay != 0);
  return MPI_SUCCESS;
}

MEANTIME_ENTRY_POINT double MPIX_Rtime(void) {
  return ranks::rank_seconds();
}

MEANTIME_ENTRY_POINT int MPIX_Start_processor_timer(void) {
  return ranks::start_processor_timer()
             ? MPI_SUCCESS
             : report("MPIX_Start_processor_timer", __builtin_return_address(0),
                      fail(MPI_ERR_OTHER,
                           "this rank is in a timed section already: "
                           "MPIX_Stop_processor_timer ends it"));
}

MEANTIME_ENTRY_POINT int MPIX_Stop_processor_timer(void) {
  return ranks::stop_processor_timer()
             ? MPI_SUCCESS
             : report("MPIX_Stop_processor_timer", __builtin_return_address(0),
                      fail(MPI_ERR_OTHER,
                           "this rank is in no timed section: "
                           "MPIX_Start_processor_timer begins one"));
}

MEANTIME_ENTRY_POINT double MPIX_Ptime(void) {
  return ranks::processor_seconds();
}

MEANTIME_ENTRY_POINT int MPIX_Counter_start(const char* event) {
  return counted("MPIX_Counter_start", __builtin_return_address(0),
                 [&] { return start_counter(event); });
}

MEANTIME_ENTRY_POINT int MPIX_Counter_stop(const char* event) {
  return counted("MPIX_Counter_stop", __builtin_return_address(0),
                 [&] { return stop_counter(event); });
}

MEANTIME_ENTRY_POINT int MPIX_Counter_read(const char* event, MPI_Count* rank, MPI_Count* core) {
  return counted("MPIX_Counter_read", __builtin_return_address(0),
                 [&] { return read_counter(event, rank, core); });
}

MEANTIME_ENTRY_POINT int MPIX_Setting_set(const char* name, const char* value) {
  return guarded("MPIX_Setting_set", __builtin_return_address(0),
                 [&] { return change_setting(name, value); });
}

MEANTIME_ENTRY_POINT int MPIX_Setting_get(const char* name, int* length, char* value) {
  return guarded("MPIX_Setting_get", __builtin_return_address(0),
                 [&] { return tell_setting(name, length, value); });
}

MEANTIME_ENTRY_POINT int MPIX_Energy_handler_reg(MPIX_Energy_function* enter,
                                                 MPIX_Energy_function* leave, void* argument) {
  return guarded("MPIX_Energy_handler_reg", __builtin_return_address(0), [&] {
    if (!is_active()) {
      return outside_of_mpi();
    }
    if (enter == nullptr) {
      return fail(MPI_ERR_ARG, "enter is NULL; MPIX_Energy_handler_dereg takes a handler away");
    }
    if (const std::string where = core::energy_handlers_locked_by(); !where.empty()) {
      core::refuse_energy_handler(self(), where);
      return MPI_SUCCESS;
    }
    core::use_energy_handler(self(), enter, leave, argument);
    ledger::note_change(*self().area, ledger::ChangedBy::handler, "MPIX_Energy_handler_reg");
    return MPI_SUCCESS;
  });
}

MEANTIME_ENTRY_POINT int MPIX_Energy_handler_dereg(void) {
  return guarded("MPIX_Energy_handler_dereg", __builtin_return_address(0), [] {
    if (!is_active()) {
      return outside_of_mpi();
    }
    core::drop_energy_handler(self());
    return MPI_SUCCESS;
  });
}
