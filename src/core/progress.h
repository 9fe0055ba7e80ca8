// The seam through which non-blocking collectives are moved on whenever their rank is in MPI.
// src/coll registers itself here, because the core must not know it.
#pragma once

namespace meantime::core {

/// Moves the active collective schedules of this rank; true if anything moved. Null = none active,
/// so that a rank without them pays one load.
using AdvanceCollectives = bool (*)();
inline AdvanceCollectives advance_collectives_hook = nullptr;

inline bool advance_collectives() {
  return advance_collectives_hook != nullptr && advance_collectives_hook();
}

}  // namespace meantime::core
