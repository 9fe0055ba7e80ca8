#include "node/cross_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "base/clock.h"
#include "node/process.h"
#include "node/segment.h"

namespace meantime::node {
namespace {

/// Fault injection for tests: MEANTIME_FAULT_CMA_AFTER=N lets the N-th copy and all later ones fail
/// as if the permission had been taken away.
bool injected_fault() {
  static const char* const setting = std::getenv("MEANTIME_FAULT_CMA_AFTER");
  if (setting == nullptr) [[likely]] {
    return false;
  }
  static std::atomic<long> left{std::atol(setting)};
  return left.fetch_sub(1, std::memory_order_relaxed) <= 0;
}

pid_t pid_of(int world_rank) {
  return segment().area(world_rank).pid.load(std::memory_order_relaxed);
}

/// Goes on after short copies. `transfer` is process_vm_readv or _writev.
template <class Transfer>
int move_all(Transfer transfer, pid_t pid, void* local, std::uint64_t remote, std::size_t bytes) {
  if (injected_fault()) {
    return EPERM;
  }
  auto* here = static_cast<char*>(local);
  while (bytes > 0) {
    iovec mine{here, bytes};
    iovec theirs{reinterpret_cast<void*>(remote), bytes};
    const ssize_t moved = transfer(pid, &mine, 1, &theirs, 1, 0);
    if (moved < 0) {
      if (errno == EINTR) {
        continue;
      }
      return errno;
    }
    if (moved == 0) {
      return EFAULT;
    }
    here += moved;
    remote += static_cast<std::uint64_t>(moved);
    bytes -= static_cast<std::size_t>(moved);
  }
  return 0;
}

/// A rank that dies takes its memory with it. Whoever meets the hole first is not to blame and must
/// not end the job with an error of its own before mpiexec has named the dead one: it waits to be
/// ended, which takes mpiexec milliseconds. (In the middle of exit() a process may have unmapped
/// some memory but not be gone yet: that is a wrong address, which goes another way and there waits
/// for the other side.)
int unless_it_died(int error) {
  for (int moment = 0; error == ESRCH && moment < 1000; ++moment) {
    constexpr timespec pause{0, 10'000'000};
    nanosleep(&pause, nullptr);
  }
  return error;
}

/// Valgrind sees what this process writes, not what others write into it: it would call a message
/// that a sender has put in place uninitialised.
bool under_valgrind() {
  const char* preload = std::getenv("LD_PRELOAD");
  return preload != nullptr && std::strstr(preload, "/vgpreload_") != nullptr;
}

enum class Trial : std::uint8_t { unknown, works, refused };

}  // namespace

void publish_trial_address(int world_rank) {
  if (under_valgrind()) {
    return;  // without an address nobody attaches
  }
  segment()
      .area(world_rank)
      .trial_address.store(reinterpret_cast<std::uint64_t>(&process_number()),
                           std::memory_order_release);
}

bool in_this_host(int world_rank) {
  // (A fork's child is no rank and never gets here.)
  return segment().area(world_rank).process.load(std::memory_order_relaxed) == process_number();
}

bool can_attach(int world_rank) {
  if (in_this_host(world_rank)) {
    return true;
  }
  Header& header = segment().header();
  if (header.cross_memory_off.load(std::memory_order_relaxed) != 0) {
    return false;
  }
  // Per host, not per rank: all ranks of a host have the same rights.
  static std::array<std::atomic<Trial>, most_ranks> trials;
  std::atomic<Trial>& trial = trials[static_cast<std::size_t>(world_rank)];
  Trial known = trial.load(std::memory_order_relaxed);
  if (known == Trial::unknown) {
    const std::uint64_t address =
        segment().area(world_rank).trial_address.load(std::memory_order_acquire);
    if (address == 0) {
      return false;  // it has not started yet: nothing is known, ask again later
    }
    std::uint64_t value = 0;
    // A pid may mean somebody else here, or nobody: only the process that is meant has its number.
    const int error = move_all(process_vm_readv, pid_of(world_rank), &value, address, sizeof value);
    const std::uint64_t meant = segment().area(world_rank).process.load(std::memory_order_relaxed);
    known = error == 0 && value == meant ? Trial::works : Trial::refused;
    trial.store(known, std::memory_order_relaxed);
  }
  return known == Trial::works;
}

namespace {

/// What is copied is in the core's cache, so that the kernel's work for each page makes the
/// difference. It takes 1.5 to 2.3 times as long as memcpy on Intel's Xeon (Sapphire Rapids), where
/// an alltoall of blocks of 32 KiB to 1 MiB takes 0.5 to 0.9 of one by deposits; 8 to 9 times on
/// AMD's EPYC, and the alltoall 1.1 to 2.7. Both are virtual machines.
Attaching measure_attaching() {
  constexpr std::size_t bytes = 64 * 1024;
  constexpr std::uint64_t copies = 4;  // as long as two, one of which is from another core's cache
  std::vector<char> from(bytes, 1);
  std::vector<char> to(bytes);
  std::uint64_t attached_ns = ~std::uint64_t{0};
  std::uint64_t copied_ns = ~std::uint64_t{0};
  for (int turn = 0; turn < 4; ++turn) {
    const std::uint64_t begin = now_ns();
    if (move_all(process_vm_readv, getpid(), to.data(),
                 reinterpret_cast<std::uint64_t>(from.data()), bytes) != 0) {
      return Attaching::slower;
    }
    const std::uint64_t middle = now_ns();
    std::memcpy(to.data(), from.data(), bytes);
    // The compiler does not know that nobody reads it.
    asm volatile("" : : "r"(to.data()) : "memory");
    attached_ns = std::min(attached_ns, middle - begin);
    copied_ns = std::min(copied_ns, now_ns() - middle);
  }
  return attached_ns < copies * copied_ns ? Attaching::quicker : Attaching::slower;
}

}  // namespace

// Several may measure, and the word is set once: all go by what it says then. Nothing else is
// ordered by it.
bool attaching_is_quicker() {
  std::atomic<std::uint32_t>& known = segment().header().attaching;
  std::uint32_t found = known.load(std::memory_order_relaxed);
  if (found == static_cast<std::uint32_t>(Attaching::not_known)) {
    const auto measured = static_cast<std::uint32_t>(measure_attaching());
    if (known.compare_exchange_strong(found, measured, std::memory_order_relaxed)) {
      found = measured;
    }
  }
  return found == static_cast<std::uint32_t>(Attaching::quicker);
}

int read_from(int world_rank, void* to, std::uint64_t remote, std::size_t bytes) {
  if (in_this_host(world_rank)) {
    std::memcpy(to, reinterpret_cast<const void*>(remote), bytes);
    return 0;
  }
  return unless_it_died(move_all(process_vm_readv, pid_of(world_rank), to, remote, bytes));
}

int write_to(int world_rank, std::uint64_t remote, const void* from, std::size_t bytes) {
  if (in_this_host(world_rank)) {
    std::memcpy(reinterpret_cast<void*>(remote), from, bytes);
    return 0;
  }
  return unless_it_died(
      move_all(process_vm_writev, pid_of(world_rank), const_cast<void*>(from), remote, bytes));
}

}  // namespace meantime::node
