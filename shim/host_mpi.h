// The MPI that a program runs on, whichever it is: its functions by their PMPI names, found when
// they are first called, and the few constants that differ.
//   handle   a communicator, datatype or op, passed on as it came: a pointer in Open MPI and in the
//            standard ABI, an int in MPICH. Registers and stack slots are as wide as a pointer
//            here, so what takes and passes on a pointer does so with an int, too
// So one shim is for all of them, built without any mpi.h.
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/function.h"

namespace meantime::shim {

using Handle = void*;

/// Room for a request, or a status, of any of them.
struct Request {
  void* value = nullptr;
};
struct Status {
  alignas(16) char room[64];
};

inline constexpr int success = 0;

/// Makes a wrapper known by both of its names: Fortran's bindings, and tools that stand in front of
/// MPI themselves, call the other one.
#define MEANTIME_SHIM(name, ...)                                                                   \
  extern "C" [[gnu::visibility("default")]] int MPI_##name __VA_ARGS__;                            \
  extern "C" [[gnu::visibility("default"), gnu::alias("MPI_" #name)]] int PMPI_##name __VA_ARGS__; \
  int MPI_##name __VA_ARGS__

/// A function of the host MPI by its PMPI name, of the host's library and not of ours; nullptr: it
/// has none, or is not loaded.
void* host_function(const char* name);

/// The same, but if there is none the process ends with a line: an MPI program has called it.
void* needed_function(const char* name);

/// The same as something that can be called, with arguments of the types that it takes.
class Host {
 public:
  explicit constexpr Host(const char* name) : name_(name) {}
  template <class... Arguments>
  int operator()(Arguments... arguments) {
    if (in_slice()) [[unlikely]] {
      end_for("MPI");
    }
    void* function = function_.load(std::memory_order_relaxed);
    if (function == nullptr) [[unlikely]] {
      function = needed_function(name_);
      function_.store(function, std::memory_order_relaxed);
    }
    return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
  }

 private:
  const char* name_;
  std::atomic<void*> function_{nullptr};  ///< the same whoever looks: it needs no order
};

/// Which ABI the host MPI has.
struct Constants {
  Handle comm_world;
  Handle comm_null;
  Handle type_int;
  Handle op_min;
  int proc_null;
};
/// nullptr: it is none that we know.
const Constants* constants();

/// Whether a communicator is that one: of MPICH's the lower half counts.
bool is(Handle handle, Handle constant);

}  // namespace meantime::shim
