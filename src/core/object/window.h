// A window: memory that the ranks of a communicator show to each other (MPI 5.0, chapter 12).
//   flavor     how its memory came: MPI_WIN_FLAVOR_CREATE, ALLOCATE, DYNAMIC or SHARED
//   team       a communicator of its own with the same ranks, for what is collective on the window
// There is no one-sided communication yet: those calls fail and name themselves. What is here is
// the object: its memory, which ranks of one node may share by loads and stores
// (MPI_Win_allocate_shared), its group, name, attributes, hints and error handler. Belongs to the
// rank.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/comm/communicator.h"
#include "core/error/errhandler.h"
#include "core/object/attribute.h"
#include "core/object/info.h"
#include "core/object/object.h"

namespace meantime {

struct Window : Object {
  static constexpr Kind object_kind = Kind::window;
  Window() : Object(Kind::window) {}
  ~Window();

  // What the predefined attributes point to, in their types (MPI 5.0, 12.2.6).
  void* base = nullptr;
  MPI_Aint size = 0;
  int disp_unit = 1;
  int flavor = MPI_WIN_FLAVOR_CREATE;
  int model = MPI_WIN_UNIFIED;

  Communicator* team = nullptr;
  Errhandler* errhandler = nullptr;
  std::unique_ptr<AttributeTable> attributes;
  Info* info = nullptr;  ///< the hints that were given and are known
  std::string name;

  /// Of a shared window: a rank's part of the memory.
  struct Part {
    MPI_Aint offset, size, disp_unit;
  };
  std::vector<Part> parts;
  std::uint64_t shared = 0;            ///< node::Link of the memory; the first rank's pool has it
  std::uint64_t shared_bytes = 0;      ///< not 0 at the rank that gives it back
  std::map<char*, MPI_Aint> attached;  ///< of a dynamic window: bytes by address
  void* allocated = nullptr;           ///< by MPI_Win_allocate

  MPI_Win handle() { return reinterpret_cast<MPI_Win>(this); }
};

Window* resolve(MPI_Win handle);

namespace core {

/// The value of a predefined attribute of windows, as MPI_Win_get_attr gives it; nullptr if `key`
/// is none. MPI_WIN_BASE's may be NULL: then `*found` tells.
void* predefined_attribute(Window& window, int key, bool* found);
/// Takes over the hints that windows know, if the value is one of the hint's.
void set_hints(Window& window, const Info* info);
/// All hints that windows know, set or by default; the caller owns it.
Info* visible_hints(const Window& window);

}  // namespace core
}  // namespace meantime
