// What a rank reads of the settings (settings/settings.h has them all; those about waiting are
// policy/policy.h's). Once, in MPI_Init, and strictly: a setting that is not understood would
// otherwise be taken for one that has no effect.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "match/engine.h"
#include "settings/settings.h"

namespace meantime {
struct Rank;
}
namespace meantime::wait {
struct PolicySettings;
}

namespace meantime::core {

struct Settings {
  std::uint32_t on_deadlock = 0;            ///< 0 abort, 1 report, 2 ignore
  bool helps = true;                        ///< there is a helper (core/request/helper.h)
  int lost_after_s = 10;                    ///< core/start/startup.cpp
  std::uint64_t still_ns = 10'000'000'000;  ///< deadlock/deadlock.h
  bool cross_memory = true;
  bool attaches = false;  ///< a test setting: cross-memory attach counts as quick
  bool argument_checks = true;
  bool missing_calls_end = true;
  bool backtrace = true;     ///< core/error/crash.h
  bool always_move = false;  ///< a test setting: thread ranks change workers whenever they wait
};

/// MEANTIME_CHECKS: whether values that make no sense are errors. Only asked about one that does
/// not, so that it costs calls without errors nothing. One for the process: it is read in MPI_Init.
inline std::atomic<bool> argument_checks{true};

/// MEANTIME_MISSING_CALLS: whether a call that is not there yet ends the job, whatever its error
/// handler: a program that does not look at what MPI_File_open returns would write nothing, and
/// succeed. One for the process, as above.
inline std::atomic<bool> missing_calls_end{true};

/// MEANTIME_BACKTRACE: whether a thread rank that crashes says where. As above.
inline std::atomic<bool> says_where{true};

/// Where this Meantime is installed, by the place of its library; empty if that cannot be told.
std::string prefix();

/// Makes the site's and the user's file count. Not in a job: there mpiexec has read them and put
/// what they say into the environment.
void read_setting_files();

/// In a job: whatever somebody has put into the environment since, what is locked stays.
void take_locks_of_mpiexec();
/// ... and is told, once a job.
void tell_what_locks_overrule(const Rank& rank);

/// What mpiexec would have said before the start. What contradicts itself, or cannot be had without
/// mpiexec though it is required, in one line; `remarks` gets a line for all that has no effect.
std::string settings_without_mpiexec(std::vector<std::string>& remarks);

/// A setting's value when this host started, by name; empty: not set, so its preset holds.
std::string setting(std::string_view name);

/// The same, or the preset's words.
std::string as_started(const settings::Setting& setting);

/// What holds for a rank now, as a text: its own live settings, else those it was started with,
/// else the preset's words.
std::string setting_in_effect(const Rank& rank, const settings::Setting& setting);

/// FILE:LINE of the site's file, if it has locked the setting; else empty.
std::string locked_by(const settings::Setting& setting);

/// Whether a lock keeps `value` from a setting; then that is told, once a job: "... as `who` says".
bool lock_overrules(const Rank& rank, const settings::Setting& setting, std::string_view value,
                    std::string_view who);

/// What in `given` a wait never comes to, though it was said as late as what keeps a wait from it:
/// one line, or nothing. What is also in `weaker` was said before, and may be void.
std::string out_of_reach(const wait::PolicySettings& given, const wait::PolicySettings& weaker,
                         std::string_view* endless_by = nullptr);

/// Changes a live setting of a rank; it holds from its next wait on. "" takes back what was said.
/// Returns what is wrong in one line, and then nothing has changed; nor has it if a lock is in the
/// way, which is not the program's fault. The rank's lock is held.
std::string change_setting(Rank& rank, const settings::Setting& setting, std::string_view value);

/// Returns what is wrong with them in one line, or nothing. `limits` has the defaults before.
std::string read_settings(Settings& settings, match::Limits& limits);

}  // namespace meantime::core
