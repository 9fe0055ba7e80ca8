#include "core/comm/wishes.h"

#include "core/comm/invitation.h"
#include "core/request/point_to_point.h"

namespace meantime::core {

int gather_wishes(Communicator& comm, Wish own, std::vector<Wish>& wishes) {
  wishes.resize(comm.size);
  wishes[comm.rank] = own;
  std::vector<Request*> requests(comm.size, nullptr);
  int result = MPI_SUCCESS;
  for (int peer = 0; peer < comm.size; ++peer) {
    if (peer != comm.rank && result == MPI_SUCCESS) {
      result = start_receive(&wishes[peer], sizeof(Wish), *resolve(MPI_BYTE), peer, wish_tag, comm,
                             ContextOffset::collective, &requests[peer]);
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
