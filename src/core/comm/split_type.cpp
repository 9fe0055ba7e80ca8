// MPI_Comm_split_type (MPI 5.0 7.4.2): by the node, by a set of ranks, or by the hardware that a
// rank is kept to.
#include "core/comm/communicator_make.h"
#include "core/error/error.h"
#include "core/object/info.h"
#include "core/topology/hardware.h"
#include "net/network.h"

namespace meantime::core {
namespace {

constexpr int together = 0;

/// Of the ranks that share this node's memory.
int node_color() {
  return net::network() != nullptr ? net::network()->node() : together;
}

/// The value of `mpi_hw_resource_type`, or of the info's key for sets of ranks.
const std::string* find(const Info* info, const char* key) {
  return info != nullptr ? info->find(key) : nullptr;
}

int color_of(int instance) {
  return instance < 0 ? MPI_UNDEFINED : node_color() * CPU_SETSIZE + instance;
}

int color_of_resource(const std::string& resource) {
  return resource == "mpi_shared_memory" ? node_color()
                                         : color_of(instance_of(resource, allowed_cpus()));
}

/// By the largest kind of hardware that divides the ranks. All look at the same kinds in the same
/// order, and stop at the same one, since until then each was in one part with all others. (One
/// that has said MPI_UNDEFINED takes part in the first split, which is the last then.)
int split_by_hardware(Communicator& comm, int key, Communicator** made) {
  std::vector<int> colors;
  if (net::network() != nullptr) {
    colors.push_back(node_color());
  }
  for (const Hardware& kind : hardware(allowed_cpus())) {
    colors.push_back(color_of(kind.instance));
  }
  for (const int color : colors) {
    if (const int error = split(comm, color, key, made); error != MPI_SUCCESS) {
      return error;
    }
    if (*made == nullptr || (*made)->size < comm.size) {
      return MPI_SUCCESS;
    }
    drop(*made);
    *made = nullptr;
  }
  return MPI_SUCCESS;
}

}  // namespace

int split_by_type(Communicator& comm, int split_type, int key, const Info* info,
                  Communicator** made) {
  *made = nullptr;
  int color = MPI_UNDEFINED;
  const std::string* resource = find(info, "mpi_hw_resource_type");
  const std::string* set = find(info, "mpi_pset_name");
  switch (split_type) {
    case MPI_UNDEFINED:
      break;
    case MPI_COMM_TYPE_SHARED:
      color = node_color();
      break;
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
      if (resource == nullptr && set != nullptr) {
        color = *set == "mpi://WORLD" ? together : *set == "mpi://SELF" ? comm.rank : MPI_UNDEFINED;
        break;
      }
      [[fallthrough]];
    case MPI_COMM_TYPE_HW_GUIDED:
      color = resource != nullptr ? color_of_resource(*resource) : MPI_UNDEFINED;
      break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
      if (!comm.is_inter()) {
        return split_by_hardware(comm, key, made);
      }
      break;
    default:
      return fail(MPI_ERR_ARG, "there is no split type {}", split_type);
  }
  return split(comm, color, key, made);
}

}  // namespace meantime::core
