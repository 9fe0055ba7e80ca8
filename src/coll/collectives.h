// What the entry points call: each collective in its blocking form, by shared memory where the
// communicator has an area, else by messages; and any plan as a request.
// Rank's lock held; arguments checked; an MPI error class comes back.
#pragma once

#include <mpi.h>

#include <memory>
#include <utility>

#include "coll/plans.h"
#include "coll/shared.h"
#include "coll/state.h"

namespace meantime::coll {

/// Runs a schedule to its end.
int run(std::unique_ptr<Schedule> schedule, Communicator& comm);
/// Makes a request of a schedule, started unless it is persistent.
int launch(std::unique_ptr<Schedule> schedule, Communicator& comm, bool persistent,
           MPI_Request* request);

/// `plan(schedule)` adds the steps of the calling rank.
template <class Plan>
int run_plan(Communicator& comm, Plan&& plan) {
  auto schedule = std::make_unique<Schedule>();
  const int error = plan(*schedule);
  return error == MPI_SUCCESS ? run(std::move(schedule), comm) : error;
}
template <class Plan>
int launch_plan(Communicator& comm, bool persistent, MPI_Request* request, Plan&& plan) {
  auto schedule = std::make_unique<Schedule>();
  const int error = plan(*schedule);
  return error == MPI_SUCCESS ? launch(std::move(schedule), comm, persistent, request) : error;
}

inline bool has_area(Communicator& comm) {
  return static_cast<bool>(state_of(comm).area);
}

}  // namespace meantime::coll
