// What the entry points call. A collective is named once, as an object of its arguments, and MPI's
// three forms of it are made of that:
//   comm              the communicator
//   check()           an error class, or MPI_SUCCESS; left out where there is nothing to check
//   can_meet()        whether its blocking form goes by shared memory, and
//   meet()            that form; both left out where it never does
//   can_go_by_nodes(how), by_nodes(steps)
//                     whether all forms go in two steps, where ranks are on several nodes, and
//                     those; both left out where they never do
//   plan(schedule)    adds the messages of the calling rank
// Rank's lock held; arguments checked; an MPI error class comes back.
#pragma once

#include <mpi.h>

#include <memory>
#include <utility>

#include "coll/by_nodes/by_nodes.h"
#include "coll/schedule/plans.h"
#include "coll/shared.h"
#include "coll/state.h"

namespace meantime::coll {

/// Runs a schedule to its end.
int run(std::unique_ptr<Schedule> schedule, Communicator& comm);
/// Makes a request of a schedule, started unless it is persistent.
int launch(std::unique_ptr<Schedule> schedule, Communicator& comm, bool persistent,
           MPI_Request* request);

/// Whether collectives on it can meet in shared memory.
inline bool has_area(Communicator& comm) {
  return static_cast<bool>(state_of(comm).area);
}

template <class Collective>
int check(const Collective& collective) {
  if constexpr (requires { collective.check(); }) {
    return collective.check();
  }
  return MPI_SUCCESS;
}

template <class Collective>
int blocking(const Collective& collective) {
  if (const int error = check(collective); error != MPI_SUCCESS) {
    return error;
  }
  if constexpr (requires { collective.meet(); }) {
    if (collective.can_meet()) {
      return collective.meet();
    }
  }
  if constexpr (requires { collective.can_go_by_nodes(by_nodes::How::at_once); }) {
    if (collective.can_go_by_nodes(by_nodes::How::at_once)) {
      by_nodes::AtOnce steps(collective.comm);
      collective.by_nodes(steps);
      return steps.finish();
    }
  }
  auto schedule = std::make_unique<Schedule>();
  const int error = collective.plan(*schedule);
  return error == MPI_SUCCESS ? run(std::move(schedule), collective.comm) : error;
}

template <class Collective>
int plan(const Collective& collective, Schedule& schedule) {
  if constexpr (requires { collective.can_go_by_nodes(by_nodes::How::at_once); }) {
    if (collective.can_go_by_nodes(by_nodes::How::scheduled)) {
      by_nodes::Scheduled steps(schedule, collective.comm);
      collective.by_nodes(steps);
      return MPI_SUCCESS;
    }
  }
  return collective.plan(schedule);
}

template <class Collective>
int as_request(const Collective& collective, bool persistent, MPI_Request* request) {
  if (const int error = check(collective); error != MPI_SUCCESS) {
    return error;
  }
  auto schedule = std::make_unique<Schedule>();
  const int error = plan(collective, *schedule);
  return error == MPI_SUCCESS ? launch(std::move(schedule), collective.comm, persistent, request)
                              : error;
}
template <class Collective>
int nonblocking(const Collective& collective, MPI_Request* request) {
  return as_request(collective, false, request);
}
template <class Collective>
int persistent(const Collective& collective, MPI_Request* request) {
  return as_request(collective, true, request);
}

}  // namespace meantime::coll
