// What an MPI_Status holds beyond its public fields: the bytes received, and whether the operation
// was cancelled. MPI_ERROR is written only by calls that complete several requests.
#pragma once

#include <mpi.h>

#include <cstring>

namespace meantime::core {

inline MPI_Count status_bytes(const MPI_Status& status) {
  MPI_Count bytes = 0;
  std::memcpy(&bytes, &status.MPI_internal[0], sizeof bytes);
  return bytes;
}
inline void set_status_bytes(MPI_Status& status, MPI_Count bytes) {
  std::memcpy(&status.MPI_internal[0], &bytes, sizeof bytes);
}
inline bool status_cancelled(const MPI_Status& status) {
  return status.MPI_internal[2] != 0;
}
inline void set_status_cancelled(MPI_Status& status, bool cancelled) {
  status.MPI_internal[2] = cancelled ? 1 : 0;
}

/// No data, from nobody in particular; MPI_ERROR stays.
inline void set_blank_status(MPI_Status* status) {
  if (status != MPI_STATUS_IGNORE) {
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    set_status_bytes(*status, 0);
    set_status_cancelled(*status, false);
  }
}
/// The empty status of a null or inactive request (MPI 5.0, 3.7.3): its error is MPI_SUCCESS even
/// where a call on one request leaves MPI_ERROR alone, with MPICH too.
inline void set_empty_status(MPI_Status* status) {
  set_blank_status(status);
  if (status != MPI_STATUS_IGNORE) {
    status->MPI_ERROR = MPI_SUCCESS;
  }
}
/// A receive from MPI_PROC_NULL.
inline void set_null_process_status(MPI_Status* status) {
  set_blank_status(status);
  if (status != MPI_STATUS_IGNORE) {
    status->MPI_SOURCE = MPI_PROC_NULL;
  }
}

}  // namespace meantime::core
