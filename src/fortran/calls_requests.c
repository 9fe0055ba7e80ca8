// Starting and completing requests. Indices count from 1 in Fortran. A request whose number changes
// (to MPI_REQUEST_NULL) is complete, whatever the call returned; of persistent ones the call's own
// words tell.
#include <stdlib.h>

#include "fortran.h"
#include "pending.h"

static MPI_Fint fortran_index(int c_index) {
  return c_index == MPI_UNDEFINED ? MPI_UNDEFINED : c_index + 1;
}

static void take(size_t count, MPI_Request* list, const MPI_Fint* requests) {
  for (size_t i = 0; i < count; ++i) list[i] = meantime_to_Request(requests[i]);
}

static void give_back(size_t count, const MPI_Request* list, MPI_Fint* requests) {
  for (size_t i = 0; i < count; ++i) {
    const MPI_Fint before = requests[i];
    requests[i] = meantime_from_Request(list[i]);
    if (requests[i] != before) meantime_completed(before);
  }
}

static void all_completed(size_t count, const MPI_Fint* requests) {
  for (size_t i = 0; i < count; ++i) meantime_completed(requests[i]);
}

BINDING void FORTRAN(start)(MPI_Fint* request, MPI_Fint* ierror) {
  MPI_Request c_request = meantime_to_Request(*request);
  meantime_starting(*request);
  const int error = MPI_CALL(Start)(&c_request);
  *request = meantime_from_Request(c_request);
  meantime_store(ierror, error);
}
SAME_IN_F08(start)

BINDING void FORTRAN(startall)(MPI_Fint* count, MPI_Fint* array_of_requests, MPI_Fint* ierror) {
  MEANTIME_LIST(MPI_Request, requests, *count);
  take(requests_length, requests_list, array_of_requests);
  for (size_t i = 0; i < requests_length; ++i) meantime_starting(array_of_requests[i]);
  const int error = MPI_CALL(Startall)(*count, requests_list);
  for (size_t i = 0; i < requests_length; ++i)
    array_of_requests[i] = meantime_from_Request(requests_list[i]);
  MEANTIME_END_LIST(requests);
  meantime_store(ierror, error);
}
SAME_IN_F08(startall)

// An active request goes on until it is complete, and what hangs on it must stay: it is not freed
// here.
BINDING void FORTRAN(request_free)(MPI_Fint* request, MPI_Fint* ierror) {
  MPI_Request c_request = meantime_to_Request(*request);
  const int error = MPI_CALL(Request_free)(&c_request);
  *request = meantime_from_Request(c_request);
  meantime_store(ierror, error);
}
SAME_IN_F08(request_free)

BINDING void FORTRAN(wait)(MPI_Fint* request, MPI_Fint* status, MPI_Fint* ierror) {
  MPI_Request c_request = meantime_to_Request(*request);
  const int error = MPI_CALL(Wait)(&c_request, meantime_status(status));
  if (error == MPI_SUCCESS) meantime_completed(*request);
  give_back(1, &c_request, request);
  meantime_store(ierror, error);
}
SAME_IN_F08(wait)

BINDING void FORTRAN(test)(MPI_Fint* request, MPI_Fint* flag, MPI_Fint* status, MPI_Fint* ierror) {
  MPI_Request c_request = meantime_to_Request(*request);
  int c_flag = 0;
  const int error = MPI_CALL(Test)(&c_request, &c_flag, meantime_status(status));
  if (error == MPI_SUCCESS && c_flag) meantime_completed(*request);
  give_back(1, &c_request, request);
  if (error == MPI_SUCCESS) *flag = meantime_logical(c_flag);
  meantime_store(ierror, error);
}
SAME_IN_F08(test)

BINDING void FORTRAN(waitall)(MPI_Fint* count, MPI_Fint* array_of_requests,
                              MPI_Fint* array_of_statuses, MPI_Fint* ierror) {
  MEANTIME_LIST(MPI_Request, requests, *count);
  take(requests_length, requests_list, array_of_requests);
  const int error = MPI_CALL(Waitall)(*count, requests_list, meantime_status(array_of_statuses));
  if (error == MPI_SUCCESS) all_completed(requests_length, array_of_requests);
  give_back(requests_length, requests_list, array_of_requests);
  MEANTIME_END_LIST(requests);
  meantime_store(ierror, error);
}
SAME_IN_F08(waitall)

BINDING void FORTRAN(testall)(MPI_Fint* count, MPI_Fint* array_of_requests, MPI_Fint* flag,
                              MPI_Fint* array_of_statuses, MPI_Fint* ierror) {
  MEANTIME_LIST(MPI_Request, requests, *count);
  int c_flag = 0;
  take(requests_length, requests_list, array_of_requests);
  const int error =
      MPI_CALL(Testall)(*count, requests_list, &c_flag, meantime_status(array_of_statuses));
  if (error == MPI_SUCCESS && c_flag) all_completed(requests_length, array_of_requests);
  give_back(requests_length, requests_list, array_of_requests);
  MEANTIME_END_LIST(requests);
  if (error == MPI_SUCCESS) *flag = meantime_logical(c_flag);
  meantime_store(ierror, error);
}
SAME_IN_F08(testall)

BINDING void FORTRAN(waitany)(MPI_Fint* count, MPI_Fint* array_of_requests, MPI_Fint* index,
                              MPI_Fint* status, MPI_Fint* ierror) {
  MEANTIME_LIST(MPI_Request, requests, *count);
  int c_index = MPI_UNDEFINED;
  take(requests_length, requests_list, array_of_requests);
  const int error = MPI_CALL(Waitany)(*count, requests_list, &c_index, meantime_status(status));
  if (error == MPI_SUCCESS && c_index != MPI_UNDEFINED)
    meantime_completed(array_of_requests[c_index]);
  give_back(requests_length, requests_list, array_of_requests);
  MEANTIME_END_LIST(requests);
  *index = fortran_index(c_index);
  meantime_store(ierror, error);
}
SAME_IN_F08(waitany)

BINDING void FORTRAN(testany)(MPI_Fint* count, MPI_Fint* array_of_requests, MPI_Fint* index,
                              MPI_Fint* flag, MPI_Fint* status, MPI_Fint* ierror) {
  MEANTIME_LIST(MPI_Request, requests, *count);
  int c_index = MPI_UNDEFINED;
  int c_flag = 0;
  take(requests_length, requests_list, array_of_requests);
  const int error =
      MPI_CALL(Testany)(*count, requests_list, &c_index, &c_flag, meantime_status(status));
  if (error == MPI_SUCCESS && c_flag && c_index != MPI_UNDEFINED)
    meantime_completed(array_of_requests[c_index]);
  give_back(requests_length, requests_list, array_of_requests);
  MEANTIME_END_LIST(requests);
  *index = fortran_index(c_index);
  if (error == MPI_SUCCESS) *flag = meantime_logical(c_flag);
  meantime_store(ierror, error);
}
SAME_IN_F08(testany)

typedef int some_function(int, MPI_Request[], int*, int[], MPI_Status[]);

// MPI_Waitsome and MPI_Testsome. Indices are there after an error in a status, too.
static int some(some_function* call, MPI_Fint* incount, MPI_Fint* array_of_requests,
                MPI_Fint* outcount, MPI_Fint* array_of_indices, MPI_Fint* array_of_statuses) {
  MEANTIME_LIST(MPI_Request, requests, *incount);
  int c_outcount = MPI_UNDEFINED;
  take(requests_length, requests_list, array_of_requests);
  const int error = call(*incount, requests_list, &c_outcount, array_of_indices,
                         meantime_status(array_of_statuses));
  for (int i = 0; i < c_outcount; ++i) {
    meantime_completed(array_of_requests[array_of_indices[i]]);
    array_of_indices[i] = fortran_index(array_of_indices[i]);
  }
  *outcount = c_outcount;
  give_back(requests_length, requests_list, array_of_requests);
  MEANTIME_END_LIST(requests);
  return error;
}

BINDING void FORTRAN(waitsome)(MPI_Fint* incount, MPI_Fint* array_of_requests, MPI_Fint* outcount,
                               MPI_Fint* array_of_indices, MPI_Fint* array_of_statuses,
                               MPI_Fint* ierror) {
  meantime_store(ierror, some(MPI_CALL(Waitsome), incount, array_of_requests, outcount,
                              array_of_indices, array_of_statuses));
}
SAME_IN_F08(waitsome)

BINDING void FORTRAN(testsome)(MPI_Fint* incount, MPI_Fint* array_of_requests, MPI_Fint* outcount,
                               MPI_Fint* array_of_indices, MPI_Fint* array_of_statuses,
                               MPI_Fint* ierror) {
  meantime_store(ierror, some(MPI_CALL(Testsome), incount, array_of_requests, outcount,
                              array_of_indices, array_of_statuses));
}
SAME_IN_F08(testsome)

// --- Looking without completing

BINDING void FORTRAN(request_get_status_all)(MPI_Fint* count, MPI_Fint* array_of_requests,
                                             MPI_Fint* flag, MPI_Fint* array_of_statuses,
                                             MPI_Fint* ierror) {
  MEANTIME_LIST(MPI_Request, requests, *count);
  int c_flag = 0;
  take(requests_length, requests_list, array_of_requests);
  const int error = MPI_CALL(Request_get_status_all)(*count, requests_list, &c_flag,
                                                     meantime_status(array_of_statuses));
  MEANTIME_END_LIST(requests);
  if (error == MPI_SUCCESS) *flag = meantime_logical(c_flag);
  meantime_store(ierror, error);
}
SAME_IN_F08(request_get_status_all)

BINDING void FORTRAN(request_get_status_any)(MPI_Fint* count, MPI_Fint* array_of_requests,
                                             MPI_Fint* index, MPI_Fint* flag, MPI_Fint* status,
                                             MPI_Fint* ierror) {
  MEANTIME_LIST(MPI_Request, requests, *count);
  int c_index = MPI_UNDEFINED;
  int c_flag = 0;
  take(requests_length, requests_list, array_of_requests);
  const int error = MPI_CALL(Request_get_status_any)(*count, requests_list, &c_index, &c_flag,
                                                     meantime_status(status));
  MEANTIME_END_LIST(requests);
  *index = fortran_index(c_index);
  if (error == MPI_SUCCESS) *flag = meantime_logical(c_flag);
  meantime_store(ierror, error);
}
SAME_IN_F08(request_get_status_any)

BINDING void FORTRAN(request_get_status_some)(MPI_Fint* incount, MPI_Fint* array_of_requests,
                                              MPI_Fint* outcount, MPI_Fint* array_of_indices,
                                              MPI_Fint* array_of_statuses, MPI_Fint* ierror) {
  MEANTIME_LIST(MPI_Request, requests, *incount);
  int c_outcount = MPI_UNDEFINED;
  take(requests_length, requests_list, array_of_requests);
  const int error = MPI_CALL(Request_get_status_some)(
      *incount, requests_list, &c_outcount, array_of_indices, meantime_status(array_of_statuses));
  MEANTIME_END_LIST(requests);
  if (error == MPI_SUCCESS) {
    for (int i = 0; i < c_outcount; ++i) array_of_indices[i] = fortran_index(array_of_indices[i]);
    *outcount = c_outcount;
  }
  meantime_store(ierror, error);
}
SAME_IN_F08(request_get_status_some)
