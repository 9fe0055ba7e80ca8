#include "core/comm/split_keys.h"

#include "core/comm/invitation.h"
#include "core/request/point_to_point.h"

namespace meantime::core {

int gather_split_keys(Communicator& comm, SplitKey own, std::vector<SplitKey>& keys) {
  keys.resize(comm.size);
  keys[comm.rank] = own;
  std::vector<Request*> requests(comm.size, nullptr);
  int result = MPI_SUCCESS;
  for (int peer = 0; peer < comm.size; ++peer) {
    if (peer != comm.rank && result == MPI_SUCCESS) {
      result = start_receive(receive_of(&keys[peer], sizeof(SplitKey), *resolve(MPI_BYTE), peer,
                                        split_key_tag, ContextOffset::collective),
                             comm, &requests[peer]);
    }
  }
  wait_all(requests.data(), comm.size);
  for (Request* request : requests) {
    if (request != nullptr) {
      if (const int error = finish(request, MPI_STATUS_IGNORE); error != MPI_SUCCESS) {
        result = error;
      }
    }
  }
  return result;
}

}  // namespace meantime::core
