// MPI 5.0, 13.2: generalised requests.
#include "api/generated/calls.h"
#include "core/error/error.h"
#include "core/request/requests.h"

namespace meantime::api {

int Grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                   MPI_Grequest_cancel_function* cancel_fn, void* extra_state,
                   MPI_Request* request) {
  *request = (new core::GeneralizedRequest(query_fn, free_fn, cancel_fn, extra_state))->handle();
  return MPI_SUCCESS;
}

int Grequest_complete(Request& request) {
  if (request.type != Request::Type::generalized) {
    return fail(MPI_ERR_REQUEST, "the request is not a generalised one");
  }
  static_cast<core::GeneralizedRequest&>(request).complete_by_user();
  return MPI_SUCCESS;
}

}  // namespace meantime::api
