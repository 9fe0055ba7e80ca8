// How the two sides of LIBRA wait, in the words of the MPI that started this process.
//
// A launcher tells a process its rank by a variable of its own; which one it is tells which MPI it
// is. What sets the way of waiting must be in the environment before MPI_Init, so it is put there
// by each process for itself.
#pragma once

#include <cstdlib>
#include <string>

#include "../common/options.h"

namespace libra {

inline bool measured_side(int rank) {
  return rank % 2 == 1;
}

// To be called before MPI_Init. Throws UsageError for what cannot be set.
inline void set_modes(const std::string& sending, const std::string& measured) {
  const char* rank = nullptr;
  const auto started_by = [&rank](const char* variable) {
    rank = std::getenv(variable);
    return rank != nullptr;
  };
  const auto mine = [&] { return measured_side(std::atoi(rank)) ? measured : sending; };
  const auto only_poll_and_yield = [&](const std::string& mpi) {
    for (const std::string& mode : {sending, measured})
      if (mode != "poll" && mode != "yield")
        throw bench::UsageError(mpi + " has the modes poll and yield, not '" + mode + "'");
  };
  if (started_by("MEANTIME_RANK")) {
    setenv("MEANTIME_WAIT", mine().c_str(), 1);
    // Knobs in the environment, which both sides have, are about the measured one.
    if (!measured_side(std::atoi(rank)))
      for (const char* knob : {"MEANTIME_TRIES_POLL", "MEANTIME_TRIES_YIELD", "MEANTIME_TIMEOUT"})
        unsetenv(knob);
  } else if (started_by("OMPI_COMM_WORLD_RANK")) {
    only_poll_and_yield("Open MPI");
    setenv("OMPI_MCA_mpi_yield_when_idle", mine() == "yield" ? "1" : "0", 1);
  } else if (started_by("PMI_RANK")) {
    only_poll_and_yield("MPICH");
    setenv("MPIR_CVAR_POLLS_BEFORE_YIELD", mine() == "yield" ? "1" : "0", 1);
  } else {
    throw bench::UsageError(
        "--mode is for Meantime, Open MPI and MPICH, started by their mpiexec; for others set it "
        "in "
        "the environment of each rank");
  }
}

}  // namespace libra
