// Cross-memory attach: process_vm_readv and process_vm_writev between the hosts of a node.
// Whether it works between two ranks is found by a real trial (the peer's number, node/process.h,
// is read out of its memory, so the pid means it here), never by asking for more rights: no
// PR_SET_PTRACER_ANY.
#pragma once

#include <cstddef>
#include <cstdint>

namespace meantime::node {

/// True if that rank is of this host, and has begun.
bool in_this_host(int world_rank);

/// True if this host may read and write the memory of `world_rank`'s host. Tries once per host and
/// remembers. False when the job switched it off (MEANTIME_CMA=0). True for a rank of this host.
bool can_attach(int world_rank);

/// Copies `bytes` between this host and the host of `world_rank` (plain memcpy if it is the same
/// one), after can_attach has said yes. Returns 0, or the errno that stopped it: EPERM/ENOSYS = not
/// allowed (any more), EFAULT = an address is wrong on either side, ESRCH = the peer is gone. Short
/// copies are continued.
int read_from(int world_rank, void* to, std::uint64_t remote, std::size_t bytes);
int write_to(int world_rank, std::uint64_t remote, const void* from, std::size_t bytes);

/// What the kernel takes for a long copy between processes, beside two with memcpy (into shared
/// memory and out of it).
enum class Attaching : std::uint32_t { not_known = 0, quicker = 1, slower = 2 };
/// Measured on this machine by whoever asks first, in about 0.1 ms; the same for all ranks.
bool attaching_is_quicker();

/// What others read to try out the attachment: an address in this host. Set in MPI_Init.
void publish_trial_address(int world_rank);

}  // namespace meantime::node
