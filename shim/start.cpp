// The beginning and the end of MPI in a program: guests begin and end with them.
#include <cstdio>

#include "shim/agreement.h"
#include "shim/guests.h"
#include "shim/host_mpi.h"
#include "shim/trials.h"

namespace meantime::shim {
namespace {

void mpi_has_begun() {
  if (!has_guests()) {
    return;
  }
  if (constants() == nullptr) {
    std::fprintf(stderr,
                 "meantime steal: this program's MPI is none that it knows (Open MPI, "
                 "MPICH, the MPI 5.0 standard ABI): no guests\n");
    return;
  }
  look_for_all();
  start_guests();
  start_trials();
}

}  // namespace
}  // namespace meantime::shim

MEANTIME_SHIM(Init, (int* count, char*** words)) {
  static meantime::shim::Host plain("PMPI_Init");
  const int error = plain(count, words);
  if (error == meantime::shim::success) {
    meantime::shim::mpi_has_begun();
  }
  return error;
}

MEANTIME_SHIM(Init_thread, (int* count, char*** words, int required, int* provided)) {
  static meantime::shim::Host plain("PMPI_Init_thread");
  const int error = plain(count, words, required, provided);
  if (error == meantime::shim::success) {
    meantime::shim::mpi_has_begun();
  }
  return error;
}

MEANTIME_SHIM(Finalize, (void)) {
  static meantime::shim::Host plain("PMPI_Finalize");
  meantime::shim::end_guests();
  return plain();
}
