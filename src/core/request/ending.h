// How a request ends: for the user, for itself, and with MPI.
//   retired     the user has been told that it is complete
//   abandoned   nobody will ask for it any more, and it is not complete yet: it goes when it is
// All of this is private to the rank; its lock is held.
#pragma once

#include <mpi.h>

namespace meantime {
struct Request;
}

namespace meantime::core {

/// The request is over for the user: MPI_REQUEST_NULL or inactive, its memory gone.
void retire(MPI_Request* handle, Request* request);
/// `delete`, after a generalised one's user has freed its state.
void destroy(Request* request);
/// Once nobody has its handle; `progress` looks when it is complete.
void abandon(Request* request);
/// Moves abandoned requests on. True if one went.
bool advance_abandoned();
/// MPI_Finalize: until every send of this rank is out of its hands.
void wait_for_quiet();

}  // namespace meantime::core
