// What every rank is doing, in lines for people: for the hang report, SIGQUIT and --timeout. Reads
// the segment, and of a host of thread ranks what its scheduler has written down, so mpiexec can
// print it while the ranks hang.
#pragma once

#include <cstdint>
#include <string>

namespace meantime::node {
class Segment;
}

namespace meantime::wait {

/// Index of the generated call table → "MPI_Recv". wait/ does not have it, so it is told: it is
/// protocol/call_names.h's call_name.
using CallName = const char* (*)(std::uint16_t call);

/// One line a rank: rank, pid, state; if it waits: call, peer, tag, communicator, call site, since.
std::string describe_ranks(const node::Segment& segment, CallName call_name);

/// "all 3000 KiB of shared memory are in use: it counts as a file …"
std::string describe_lack(const node::Segment& segment);

/// "stencil+0x1234": what addr2line wants to know of a call's return address in this process.
std::string location_of_call(const void* call_site);

}  // namespace meantime::wait
