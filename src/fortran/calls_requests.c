// Starting and completing requests. Indices count from 1 in Fortran. A request whose number changes
// (to MPI_REQUEST_NULL) is complete, whatever the call returned; of persistent ones the call's own
// words tell.
#include <stdlib.h>

#include "fortran.h"
#include "pending.h"

static MPI_Fint fortran_index(int c_index) {
  return c_index == MPI_UNDEFINED ? MPI_UNDEFINED : c_index + 1;
}

// The requests of a call: their handles in C, and what hangs on them (NULL if nothing does).
struct list {
  size_t length;
  MPI_Request* requests;
  struct meantime_hanging** hanging;
  MPI_Request few_requests[16];
  struct meantime_hanging* few_hanging[16];
};

static void open_list(struct list* list, MPI_Fint count, const MPI_Fint* requests) {
  list->length = count > 0 ? (size_t)count : 0;
  const bool few = list->length <= 16;
  list->requests =
      few ? list->few_requests : meantime_allocate(list->length * sizeof *list->requests);
  list->hanging = NULL;
  if (meantime_any_pending()) {
    list->hanging =
        few ? list->few_hanging : meantime_allocate(list->length * sizeof *list->hanging);
  }
  for (size_t i = 0; i < list->length; ++i) {
    list->requests[i] = meantime_to_Request(requests[i]);
    if (list->hanging != NULL) list->hanging[i] = meantime_take(requests[i]);
  }
}

static void free_list(struct list* list) {
  if (list->requests != list->few_requests) free(list->requests);
  if (list->hanging != list->few_hanging) free(list->hanging);
}

// The request at this index is complete.
static void completed(struct list* list, size_t index) {
  if (list->hanging == NULL) return;
  meantime_completed(list->hanging[index]);
  list->hanging[index] = NULL;
}

static void all_completed(struct list* list) {
  for (size_t i = 0; i < list->length; ++i) completed(list, i);
}

// The numbers of the requests that are there no more change.
static void close_list(struct list* list, MPI_Fint* requests) {
  for (size_t i = 0; i < list->length; ++i) {
    const MPI_Fint before = requests[i];
    requests[i] = meantime_from_Request(list->requests[i]);
    if (requests[i] != before) completed(list, i);
    if (list->hanging != NULL) meantime_put_back(list->hanging[i]);
  }
  free_list(list);
}

// After a call that looks and completes nothing.
static void close_looked_at(struct list* list) {
  for (size_t i = 0; list->hanging != NULL && i < list->length; ++i)
    meantime_put_back(list->hanging[i]);
  free_list(list);
}

static void arrived(struct list* list, size_t index) {
  if (list->hanging == NULL) return;
  meantime_arrived(list->hanging[index]);
  list->hanging[index] = NULL;
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
  for (size_t i = 0; i < requests_length; ++i) {
    requests_list[i] = meantime_to_Request(array_of_requests[i]);
    meantime_starting(array_of_requests[i]);
  }
  const int error = MPI_CALL(Startall)(*count, requests_list);
  for (size_t i = 0; i < requests_length; ++i)
    array_of_requests[i] = meantime_from_Request(requests_list[i]);
  MEANTIME_END_LIST(requests);
  meantime_store(ierror, error);
}
SAME_IN_F08(startall)

// An active request goes on until it is complete.
BINDING void FORTRAN(request_free)(MPI_Fint* request, MPI_Fint* ierror) {
  MPI_Request c_request = meantime_to_Request(*request);
  struct meantime_hanging* hanging = meantime_take(*request);
  const int error = MPI_CALL(Request_free)(&c_request);
  if (error == MPI_SUCCESS) {
    meantime_freed(hanging);
  } else {
    meantime_put_back(hanging);
  }
  *request = meantime_from_Request(c_request);
  meantime_store(ierror, error);
}
SAME_IN_F08(request_free)

BINDING void FORTRAN(wait)(MPI_Fint* request, MPI_Fint* status, MPI_Fint* ierror) {
  struct list list;
  open_list(&list, 1, request);
  const int error = MPI_CALL(Wait)(list.requests, meantime_status(status));
  if (error == MPI_SUCCESS) completed(&list, 0);
  close_list(&list, request);
  meantime_store(ierror, error);
}
SAME_IN_F08(wait)

BINDING void FORTRAN(test)(MPI_Fint* request, MPI_Fint* flag, MPI_Fint* status, MPI_Fint* ierror) {
  struct list list;
  int c_flag = 0;
  open_list(&list, 1, request);
  const int error = MPI_CALL(Test)(list.requests, &c_flag, meantime_status(status));
  if (error == MPI_SUCCESS && c_flag) completed(&list, 0);
  close_list(&list, request);
  if (error == MPI_SUCCESS) *flag = meantime_logical(c_flag);
  meantime_store(ierror, error);
}
SAME_IN_F08(test)

BINDING void FORTRAN(waitall)(MPI_Fint* count, MPI_Fint* array_of_requests,
                              MPI_Fint* array_of_statuses, MPI_Fint* ierror) {
  struct list list;
  open_list(&list, *count, array_of_requests);
  const int error = MPI_CALL(Waitall)(*count, list.requests, meantime_status(array_of_statuses));
  if (error == MPI_SUCCESS) all_completed(&list);
  close_list(&list, array_of_requests);
  meantime_store(ierror, error);
}
SAME_IN_F08(waitall)

BINDING void FORTRAN(testall)(MPI_Fint* count, MPI_Fint* array_of_requests, MPI_Fint* flag,
                              MPI_Fint* array_of_statuses, MPI_Fint* ierror) {
  struct list list;
  int c_flag = 0;
  open_list(&list, *count, array_of_requests);
  const int error =
      MPI_CALL(Testall)(*count, list.requests, &c_flag, meantime_status(array_of_statuses));
  if (error == MPI_SUCCESS && c_flag) all_completed(&list);
  close_list(&list, array_of_requests);
  if (error == MPI_SUCCESS) *flag = meantime_logical(c_flag);
  meantime_store(ierror, error);
}
SAME_IN_F08(testall)

BINDING void FORTRAN(waitany)(MPI_Fint* count, MPI_Fint* array_of_requests, MPI_Fint* index,
                              MPI_Fint* status, MPI_Fint* ierror) {
  struct list list;
  int c_index = MPI_UNDEFINED;
  open_list(&list, *count, array_of_requests);
  const int error = MPI_CALL(Waitany)(*count, list.requests, &c_index, meantime_status(status));
  if (error == MPI_SUCCESS && c_index != MPI_UNDEFINED) completed(&list, (size_t)c_index);
  close_list(&list, array_of_requests);
  *index = fortran_index(c_index);
  meantime_store(ierror, error);
}
SAME_IN_F08(waitany)

BINDING void FORTRAN(testany)(MPI_Fint* count, MPI_Fint* array_of_requests, MPI_Fint* index,
                              MPI_Fint* flag, MPI_Fint* status, MPI_Fint* ierror) {
  struct list list;
  int c_index = MPI_UNDEFINED;
  int c_flag = 0;
  open_list(&list, *count, array_of_requests);
  const int error =
      MPI_CALL(Testany)(*count, list.requests, &c_index, &c_flag, meantime_status(status));
  if (error == MPI_SUCCESS && c_flag && c_index != MPI_UNDEFINED) completed(&list, (size_t)c_index);
  close_list(&list, array_of_requests);
  *index = fortran_index(c_index);
  if (error == MPI_SUCCESS) *flag = meantime_logical(c_flag);
  meantime_store(ierror, error);
}
SAME_IN_F08(testany)

typedef int some_function(int, MPI_Request[], int*, int[], MPI_Status[]);

// MPI_Waitsome and MPI_Testsome. Indices are there after an error in a status, too.
static int some(some_function* call, MPI_Fint* incount, MPI_Fint* array_of_requests,
                MPI_Fint* outcount, MPI_Fint* array_of_indices, MPI_Fint* array_of_statuses) {
  struct list list;
  int c_outcount = MPI_UNDEFINED;
  open_list(&list, *incount, array_of_requests);
  const int error = call(*incount, list.requests, &c_outcount, array_of_indices,
                         meantime_status(array_of_statuses));
  for (int i = 0; i < c_outcount; ++i) {
    completed(&list, (size_t)array_of_indices[i]);
    array_of_indices[i] = fortran_index(array_of_indices[i]);
  }
  *outcount = c_outcount;
  close_list(&list, array_of_requests);
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

BINDING void FORTRAN(request_get_status)(MPI_Fint* request, MPI_Fint* flag, MPI_Fint* status,
                                         MPI_Fint* ierror) {
  struct meantime_hanging* hanging = meantime_take(*request);
  int c_flag = 0;
  const int error =
      MPI_CALL(Request_get_status)(meantime_to_Request(*request), &c_flag, meantime_status(status));
  if (error == MPI_SUCCESS && c_flag) {
    meantime_arrived(hanging);
  } else {
    meantime_put_back(hanging);
  }
  if (error == MPI_SUCCESS) *flag = meantime_logical(c_flag);
  meantime_store(ierror, error);
}
SAME_IN_F08(request_get_status)

BINDING void FORTRAN(request_get_status_all)(MPI_Fint* count, MPI_Fint* array_of_requests,
                                             MPI_Fint* flag, MPI_Fint* array_of_statuses,
                                             MPI_Fint* ierror) {
  struct list list;
  int c_flag = 0;
  open_list(&list, *count, array_of_requests);
  const int error = MPI_CALL(Request_get_status_all)(*count, list.requests, &c_flag,
                                                     meantime_status(array_of_statuses));
  for (size_t i = 0; error == MPI_SUCCESS && c_flag && i < list.length; ++i) arrived(&list, i);
  close_looked_at(&list);
  if (error == MPI_SUCCESS) *flag = meantime_logical(c_flag);
  meantime_store(ierror, error);
}
SAME_IN_F08(request_get_status_all)

BINDING void FORTRAN(request_get_status_any)(MPI_Fint* count, MPI_Fint* array_of_requests,
                                             MPI_Fint* index, MPI_Fint* flag, MPI_Fint* status,
                                             MPI_Fint* ierror) {
  struct list list;
  int c_index = MPI_UNDEFINED;
  int c_flag = 0;
  open_list(&list, *count, array_of_requests);
  const int error = MPI_CALL(Request_get_status_any)(*count, list.requests, &c_index, &c_flag,
                                                     meantime_status(status));
  if (error == MPI_SUCCESS && c_flag && c_index != MPI_UNDEFINED) arrived(&list, (size_t)c_index);
  close_looked_at(&list);
  *index = fortran_index(c_index);
  if (error == MPI_SUCCESS) *flag = meantime_logical(c_flag);
  meantime_store(ierror, error);
}
SAME_IN_F08(request_get_status_any)

BINDING void FORTRAN(request_get_status_some)(MPI_Fint* incount, MPI_Fint* array_of_requests,
                                              MPI_Fint* outcount, MPI_Fint* array_of_indices,
                                              MPI_Fint* array_of_statuses, MPI_Fint* ierror) {
  struct list list;
  int c_outcount = MPI_UNDEFINED;
  open_list(&list, *incount, array_of_requests);
  const int error = MPI_CALL(Request_get_status_some)(
      *incount, list.requests, &c_outcount, array_of_indices, meantime_status(array_of_statuses));
  for (int i = 0; error == MPI_SUCCESS && i < c_outcount; ++i)
    arrived(&list, (size_t)array_of_indices[i]);
  close_looked_at(&list);
  if (error == MPI_SUCCESS) {
    for (int i = 0; i < c_outcount; ++i) array_of_indices[i] = fortran_index(array_of_indices[i]);
    *outcount = c_outcount;
  }
  meantime_store(ierror, error);
}
SAME_IN_F08(request_get_status_some)
