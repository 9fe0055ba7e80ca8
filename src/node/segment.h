// The node's segment mapped into this host, and the heap in it.
// Growth: a chunk is backed with fallocate and then reserved by one compare-and-swap on the
// header's bump pointer, so a node that runs short gets an error here, which the caller turns into
// MPI_ERR_NO_MEM, and never a SIGBUS later.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "node/layout.h"

namespace meantime::node {

/// What the kernel calls its memory in /proc.
inline constexpr char segment_name[] = "meantime-node";

/// What runs a job's ranks, see Header.
struct Carriers {
  int runners = 0;       ///< 0: one for each rank
  int thread_hosts = 0;  ///< 0: not all ranks are threads
  int ranks_here = 0;    ///< 0: all
};

/// Makes and lays out the segment of a job: a memfd, close-on-exec. Returns the descriptor, which
/// the caller closes, or -errno. For mpiexec, and for a singleton.
int create_segment(int ranks, int workers, Carriers carriers = {});

/// Pages of the segment, all zero; of no bytes when there are none.
struct Grown {
  Link place = 0;
  std::size_t bytes = 0;
};

/// What of the system keeps the segment from growing, if it failed with this errno (or
/// addresses_end), in words for who can change that; empty: unknown.
std::string what_limits(std::uint32_t error);

class Segment {
 public:
  /// Maps the segment behind `descriptor`, which stays the caller's but should stay open for
  /// growth. Returns 0 or an errno: EBADF if there is no segment behind it, of whatever version.
  int map(int descriptor);
  void unmap();
  /// Makes the address space that no chunk has been put behind unreadable: Valgrind's leak check at
  /// exit looks at every page that can be read, 16 GiB of them otherwise. What others grow
  /// afterwards cannot be read here before `untrim`.
  void trim();
  void untrim();
  bool mapped() const { return base_ != nullptr; }

  Header& header() const { return *reinterpret_cast<Header*>(base_); }
  RankArea& area(int world_rank) const {
    return reinterpret_cast<RankArea*>(base_ + header().areas)[world_rank];
  }

  /// Two start_pages.
  Link start_of(int world_rank) const {
    return header().starts + start_bytes * static_cast<std::size_t>(world_rank);
  }

  template <class T>
  T* at(Link link) const {
    return reinterpret_cast<T*>(base_ + link);
  }
  Link link(const void* place) const {
    return static_cast<Link>(static_cast<const char*>(place) - base_);
  }

  /// A zeroed run of at least `bytes` of shared memory, page-aligned; 0 when the segment or the
  /// machine has no more. Not given back before the job ends: callers pool. Any thread.
  Link grow(std::size_t bytes);
  /// The same, or less where there is less: `least` bytes, or nothing.
  Grown grow_up_to(std::size_t bytes, std::size_t least);
  /// It cannot get longer, but the machine may have fewer left.
  std::uint64_t most_bytes() const;

 private:
  int open_descriptor();
  int found_again() const;

  char* base_ = nullptr;
  std::size_t mapped_ = 0;
  std::size_t trimmed_to_ = 0;  ///< 0: not trimmed
  std::atomic<int> descriptor_ = -1;
  // Which file it was when it was mapped: the program may have closed the descriptor since.
  dev_t device_ = 0;
  ino_t file_ = 0;
};

/// Whether that rank has left MPI, as far as the segment says: its MPI_Finalize is done.
bool has_left(int descriptor, int world_rank);

/// A rank that was away has ended: it will not come back. For those who hear of its end: mpiexec,
/// which has the segment's descriptor, and the host of a thread rank.
void note_end(const Segment& segment, int world_rank);
void note_end(int descriptor, int world_rank);

namespace detail {
// One mapping a host: it belongs to the process, not to a rank.
extern constinit Segment host_segment;
}  // namespace detail

/// This host's mapping of the node's segment. Valid from MPI_Init on.
inline Segment& segment() {
  return detail::host_segment;
}

}  // namespace meantime::node
