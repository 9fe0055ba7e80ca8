#include "coll/collectives.h"

#include "core/request/point_to_point.h"

namespace meantime::coll {

int run(std::unique_ptr<Schedule> schedule, Communicator& comm) {
  auto* request = new ScheduleRequest(comm, state_of(comm).next_tag(), std::move(schedule), false);
  request->start();
  return core::finish(request, MPI_STATUS_IGNORE);
}

int launch(std::unique_ptr<Schedule> schedule, Communicator& comm, bool persistent,
           MPI_Request* request) {
  auto* made = new ScheduleRequest(comm, state_of(comm).next_tag_of_request(), std::move(schedule),
                                   persistent);
  if (!persistent) {
    made->start();
  }
  *request = made->handle();
  return MPI_SUCCESS;
}

}  // namespace meantime::coll
