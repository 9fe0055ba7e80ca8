// Whose each descriptor of the host is, and what all ranks have from mpiexec's own parent. For
// descriptors.cpp and own_descriptor.cpp, which know how ranks call them.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace meantime::host {

// --- System calls, because libc's names lead back here.

int raw_close(int place);
int raw_fcntl(int place, int command, long argument = 0);
int raw_dup3(int from, int to);  ///< closes on exec

// --- Whose a place is.

/// 0: nobody knows. Else a rank's, as (index + 1) * 2, and 1 more if a child would not get it.
using Owner = std::uint32_t;
inline constexpr Owner nobody = 0;
inline constexpr Owner hosts = 1;  ///< the library uses it on every rank's stack
/// Of another number of some rank, or of the host's own threads.
inline constexpr Owner behind = ~Owner{0};

inline constexpr int most_places = 1 << 20;  // the kernel's own limit (fs.nr_open)

/// Untouched mostly, so it takes no memory.
inline std::atomic<Owner>* owners() {
  static auto* const all = static_cast<std::atomic<Owner>*>(
      mmap(nullptr, most_places * sizeof(std::atomic<Owner>), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  return all;
}

inline Owner owner(int place) {
  return static_cast<unsigned>(place) < most_places ? owners()[place].load() : nobody;
}

void set_owner(int place, Owner owner);

inline Owner of_rank(int index, bool closes_on_exec) {
  return static_cast<Owner>(index + 1) * 2 + (closes_on_exec ? 1 : 0);
}

/// Places that had an owner lie below.
int end_of_places();

/// What nobody is known to have: opened in a way that we do not see (a raw system call, libc for
/// itself), or by a rank that is just about to tell whose it is. The first may be closed. (Who
/// makes one counts himself before and after: if it was open before we found no maker, and is
/// nobody's still, it is none of a maker's.)
bool is_strays(int place);

/// A closed standard descriptor: keeps its number, and every use of it is an error.
int hole();

// --- What all ranks have from mpiexec's parent.

/// One more rank has them all.
void enter_inherited();
/// A rank has this one no more; the last one closes it.
void leave_inherited(int number);
/// Some rank has it still.
bool is_inherited(int number);
/// Those that some rank has still.
std::vector<int> inherited_numbers();

}  // namespace meantime::host
