// Which process carries a rank. A pid alone does not say: it is a number in one PID namespace, and
// ranks that each have a namespace of their own (unshare -pf, some container runtimes) may all have
// the same one. So each process writes a random number of its own into the segment, and where its
// pid is one.
#pragma once

#include <atomic>
#include <cstdint>

#include "node/layout.h"

namespace meantime::node {

/// Says in the segment that this process carries `area`'s rank; its pid, too.
void publish_process(RankArea& area);

/// Says where this process's pid, which `area.host` is to have, is one.
void publish_pid_namespace(RankArea& area);

/// This process's number, never 0 and no other's, at the address where others look for it.
const std::uint64_t& process_number();

/// area.pid, or area.host, if /proc and system calls take it here for the process that is meant;
/// else 0. It is 0 before that process has said so.
int pid_here(const RankArea& area);
int host_here(const RankArea& area);

/// Whether that process is stopped, by a signal or a debugger. False if it cannot be told.
bool is_stopped(const RankArea& area);

}  // namespace meantime::node
