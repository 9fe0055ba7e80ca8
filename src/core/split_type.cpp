// MPI_Comm_split_type (MPI 5.0 7.4.2): all ranks of a job share one node, and Meantime names no
// hardware below it, so the only parts it knows are the node and the rank alone.
#include "core/communicator_make.h"
#include "core/error.h"
#include "core/info.h"

namespace meantime::core {
namespace {

constexpr int together = 0;

/// The value of `mpi_hw_resource_type`, or of the info's key for sets of ranks.
const std::string* find(const Info* info, const char* key) {
  return info != nullptr ? info->find(key) : nullptr;
}

}  // namespace

int split_color(const Communicator& comm, int split_type, const Info* info, int* color) {
  *color = MPI_UNDEFINED;
  const std::string* resource = find(info, "mpi_hw_resource_type");
  const std::string* set = find(info, "mpi_pset_name");
  switch (split_type) {
    case MPI_UNDEFINED:
      return MPI_SUCCESS;
    case MPI_COMM_TYPE_SHARED:
      *color = together;
      return MPI_SUCCESS;
    case MPI_COMM_TYPE_HW_GUIDED:
      if (resource != nullptr && *resource == "mpi_shared_memory") {
        *color = together;
      }
      return MPI_SUCCESS;
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
      if ((resource != nullptr && *resource == "mpi_shared_memory") ||
          (set != nullptr && *set == "mpi://WORLD")) {
        *color = together;
      } else if (set != nullptr && *set == "mpi://SELF") {
        *color = comm.rank;
      }
      return MPI_SUCCESS;
    case MPI_COMM_TYPE_HW_UNGUIDED:
      // Would have to be a strict part of the node.
      return MPI_SUCCESS;
    default:
      return fail(MPI_ERR_ARG, "there is no split type {}", split_type);
  }
}

}  // namespace meantime::core
