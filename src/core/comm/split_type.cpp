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
constexpr char resource_key[] = "mpi_hw_resource_type";
constexpr char node_resource[] = "mpi_shared_memory";

/// Of the ranks that share this node's memory.
int node_color() {
  return net::network() != nullptr ? net::network()->node() : together;
}

/// The value of `resource_key`, or of the info's key for sets of ranks.
const std::string* find(const Info* info, const char* key) {
  return info != nullptr ? info->find(key) : nullptr;
}

int color_of(int instance) {
  return instance < 0 ? MPI_UNDEFINED : node_color() * CPU_SETSIZE + instance;
}

int color_of_resource(const std::string& resource) {
  return resource == node_resource ? node_color() : color_of(instance_of(resource, allowed_cpus()));
}

/// By the largest kind of hardware that divides the ranks, which `info` is told. All look at the
/// same kinds in the same order, and stop at the same one, since until then each was in one part
/// with all others. (One that has said MPI_UNDEFINED takes part in the first split, which is the
/// last then.)
int split_by_hardware(Communicator& comm, int key, Info* info, Communicator** made) {
  struct Division {
    std::string resource;
    int color;
  };
  std::vector<Division> divisions;
  if (net::network() != nullptr) {
    divisions.push_back({node_resource, node_color()});
  }
  for (const Hardware& kind : hardware(allowed_cpus())) {
    divisions.push_back({std::string(hardware_scheme) + kind.kind, color_of(kind.instance)});
  }
  for (const auto& [resource, color] : divisions) {
    if (const int error = split(comm, color, key, made); error != MPI_SUCCESS) {
      return error;
    }
    if (*made == nullptr) {
      return MPI_SUCCESS;
    }
    if ((*made)->size < comm.size) {
      if (info != nullptr && !info->read_only) {
        info->set(resource_key, resource);
      }
      return MPI_SUCCESS;
    }
    drop(*made);
    *made = nullptr;
  }
  return MPI_SUCCESS;
}

}  // namespace

int split_by_type(Communicator& comm, int split_type, int key, Info* info, Communicator** made) {
  *made = nullptr;
  int color = MPI_UNDEFINED;
  const std::string* resource = find(info, resource_key);
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
        return split_by_hardware(comm, key, info, made);
      }
      break;
    default:
      return fail(MPI_ERR_ARG, "there is no split type {}", split_type);
  }
  return split(comm, color, key, made);
}

}  // namespace meantime::core
