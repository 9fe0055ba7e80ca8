// The guests of a program on another MPI: one rank of each node, the first, starts the keeper
// (src/guest), and says at the end what became of them.
#pragma once

#include <string>

#include "guest/plan.h"

namespace meantime::shim {

/// Whether this job has guests: `meantime steal` has said so in the environment.
bool has_guests();

/// They are programs, which have the CPU while ranks sleep; else a function (shim/function.h).
bool has_guest_processes();

/// It is to have what is left in waits that are not in collectives, too.
bool steals_all();

/// More ranks than CPUs on this node. Whoever waits then has to let others on its CPU at once, and
/// a sleep by a timer is far longer than the MPI's own yield (4 ranks on 2 CPUs, 2000 allreduces:
/// 12 s instead of 0.13). So waits stay the MPI's, and guests have what these leave.
bool ranks_share_cpus();
/// Waits of the MPI's are ours.
inline bool takes_waits() {
  return has_guests() && !ranks_share_cpus();
}

bool is_first_of_its_node();
/// A line for the user. Part of it may be a guest's.
void say(const std::string& text);

/// This process has started the node's guests.
bool has_keeper();
void order(guest::Order order);

/// In MPI_Init, of each rank.
void start_guests();
/// In MPI_Finalize.
void end_guests();

}  // namespace meantime::shim
