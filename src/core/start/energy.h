// Energy handlers of users: functions of the program, or of a shared library that the environment
// names (docs/reference/extensions.md). Both become the rank's wait::Advisor.
#pragma once

#include <meantime.h>

#include <memory>
#include <string>
#include <string_view>

namespace meantime {
struct Rank;
namespace node {
class ControlClient;
}
}  // namespace meantime

namespace meantime::core {

/// The rank's waits ask these functions from now on, and nobody calls the ones before any more: a
/// wait that has begun with those goes on as without a handler. The rank's lock is held. `leave`
/// may be nullptr.
void use_energy_handler(Rank& rank, MPIX_Energy_function* enter, MPIX_Energy_function* leave,
                        void* argument);
/// In its place, where the site has locked that: tells the user, once a job.
void refuse_energy_handler(const Rank& rank, const std::string& locked_by);
/// Back to what the settings say.
void drop_energy_handler(Rank& rank);
/// FILE:LINE of the site's file, if it has locked one of the settings that handlers take the place
/// of; else empty.
std::string energy_handlers_locked_by();

/// What the settings MEANTIME_ENERGY and MEANTIME_ENERGY_HANDLER say, for a rank that starts.
/// Returns one line if they cannot be followed.
std::string start_energy(Rank& rank);
/// The same for the workers of thread ranks, before they begin: only `countdown` is theirs. `line`:
/// the host's.
void start_energy_of_workers(const std::shared_ptr<node::ControlClient>& line);

}  // namespace meantime::core
