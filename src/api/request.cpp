// MPI 5.0, 3.7 and 3.9: completing requests, persistent requests, cancelling. A null handle or an
// inactive persistent request is complete with an empty status.
#include "core/request/request.h"

#include <vector>

#include "api/generated/calls.h"
#include "core/error/error.h"
#include "core/error/error_attribution.h"
#include "core/object/handles.h"
#include "core/request/ending.h"
#include "core/request/partitioned.h"
#include "core/request/requests.h"
#include "core/request/status.h"
#include "wait/test_calls.h"

namespace meantime::api {
namespace {

/// The active request behind a handle, or nullptr if there is nothing to wait for.
Request* active_behind(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) {
    return nullptr;
  }
  auto* request = reinterpret_cast<Request*>(handle);
  return request->active ? request : nullptr;
}

MPI_Status* status_at(MPI_Status* statuses, int index) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[index];
}

/// Fills in the status of a complete request; its error.
int hand_over_status(Request& request, MPI_Status* status) {
  if (request.type == Request::Type::generalized) {
    static_cast<core::GeneralizedRequest&>(request).query(status);
  } else {
    core::set_status(status, request);
  }
  if (request.error != MPI_SUCCESS) {
    attribute_error(request.comm);
  }
  return request.error;
}

/// The user is told of a complete request: status, then the handle goes.
int complete(MPI_Request* handle, MPI_Status* status) {
  Request* request = active_behind(*handle);
  if (request == nullptr) {
    core::set_empty_status(status);
    return MPI_SUCCESS;
  }
  if (request->kind != Kind::request) [[unlikely]] {  // of an array that names it twice
    return fail(MPI_ERR_REQUEST, "the request was completed by this call already");
  }
  int error = hand_over_status(*request, status);
  if (request->type == Request::Type::generalized) {
    const int freed = static_cast<core::GeneralizedRequest*>(request)->free_state();
    error = error != MPI_SUCCESS ? error : freed;
  }
  core::retire(handle, request);
  return error;
}

bool is_over(Request* request) {
  return request == nullptr || request->complete || request->advance();
}

/// One look after one turn of progress.
bool look(Request* request) {
  if (request == nullptr) {
    wait::test_of_nothing();
    return true;
  }
  if (is_over(request)) {
    wait::fruitful_test();
    return true;
  }
  core::progress();
  if (is_over(request)) {
    wait::fruitful_test();
    return true;
  }
  looked_in_vain(&request, 1, true);
  return false;
}

std::vector<Request*> all_active(int count, const MPI_Request* handles) {
  std::vector<Request*> requests(static_cast<std::size_t>(count));
  for (int index = 0; index < count; ++index) {
    requests[static_cast<std::size_t>(index)] = active_behind(handles[index]);
  }
  return requests;
}

/// The same for one of an array.
int complete_at(int index, MPI_Request* handles, MPI_Status* statuses) {
  MPI_Status* status = status_at(statuses, index);
  const int error = complete(&handles[index], status);
  if (status != MPI_STATUS_IGNORE) {
    status->MPI_ERROR = error;
  }
  return error;
}

/// Completes all of them; MPI_ERR_IN_STATUS if one failed.
int complete_all(int count, MPI_Request* handles, MPI_Status* statuses) {
  bool failed = false;
  for (int index = 0; index < count; ++index) {
    failed = complete_at(index, handles, statuses) != MPI_SUCCESS || failed;
  }
  return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

/// The places of those that are complete; -1 if no request is active at all.
int find_complete(const std::vector<Request*>& requests, int* indices) {
  int found = 0;
  bool any_active = false;
  for (std::size_t index = 0; index < requests.size(); ++index) {
    if (requests[index] == nullptr) {
      continue;
    }
    any_active = true;
    if (is_over(requests[index])) {
      indices[found++] = static_cast<int>(index);
    }
  }
  return any_active ? found : -1;
}

/// The statuses of complete ones, which stay as they are; MPI_ERR_IN_STATUS if one failed.
/// `indices`: which they are; nullptr: all of them, and those that are nullptr are empty.
int statuses_of(const std::vector<Request*>& requests, int count, const int* indices,
                MPI_Status* statuses) {
  bool failed = false;
  for (int place = 0; place < count; ++place) {
    Request* request =
        requests[static_cast<std::size_t>(indices != nullptr ? indices[place] : place)];
    MPI_Status* status = status_at(statuses, place);
    int error = MPI_SUCCESS;
    if (request == nullptr) {
      core::set_empty_status(status);
    } else {
      error = hand_over_status(*request, status);
    }
    failed = failed || error != MPI_SUCCESS;
    if (status != MPI_STATUS_IGNORE) {
      status->MPI_ERROR = error;
    }
  }
  return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

int complete_some(int found, MPI_Request* handles, const int* indices, MPI_Status* statuses) {
  bool failed = false;
  for (int index = 0; index < found; ++index) {
    MPI_Status* status = status_at(statuses, index);
    const int error = complete(&handles[indices[index]], status);
    failed = failed || error != MPI_SUCCESS;
    if (status != MPI_STATUS_IGNORE) {
      status->MPI_ERROR = error;
    }
  }
  return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

}  // namespace

int Wait(MPI_Request* request, MPI_Status* status) {
  if (Request* active = active_behind(*request); !is_over(active)) {
    wait_all(&active, 1);
  }
  return complete(request, status);
}

int Test(MPI_Request* request, int* flag, MPI_Status* status) {
  *flag = look(active_behind(*request)) ? 1 : 0;
  return *flag != 0 ? complete(request, status) : MPI_SUCCESS;
}

int Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  // Those that are over are completed at once, in the window of a sender all of them.
  int over = 0;
  bool failed = false;
  for (; over < count && is_over(active_behind(array_of_requests[over])); ++over) {
    failed = complete_at(over, array_of_requests, array_of_statuses) != MPI_SUCCESS || failed;
  }
  if (over < count) {
    const std::vector<Request*> requests = all_active(count - over, array_of_requests + over);
    wait_all(requests.data(), count - over);
    for (; over < count; ++over) {
      failed = complete_at(over, array_of_requests, array_of_statuses) != MPI_SUCCESS || failed;
    }
  }
  return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

int Testall(int count, MPI_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[]) {
  const std::vector<Request*> requests = all_active(count, array_of_requests);
  core::progress();
  bool all = true;
  for (Request* request : requests) {
    all = all && is_over(request);
  }
  *flag = all ? 1 : 0;
  if (!all) {
    looked_in_vain(requests.data(), count, true);
    return MPI_SUCCESS;
  }
  wait::fruitful_test();
  return complete_all(count, array_of_requests, array_of_statuses);
}

int Waitany(int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status) {
  const std::vector<Request*> requests = all_active(count, array_of_requests);
  bool any_active = false;
  for (Request* request : requests) {
    any_active = any_active || request != nullptr;
  }
  if (!any_active) {
    *indx = MPI_UNDEFINED;
    core::set_empty_status(status);
    return MPI_SUCCESS;
  }
  *indx = wait_any(requests.data(), count);
  return complete(&array_of_requests[*indx], status);
}

int Testany(int count, MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status) {
  const std::vector<Request*> requests = all_active(count, array_of_requests);
  core::progress();
  *indx = MPI_UNDEFINED;
  bool any_active = false;
  for (int index = 0; index < count; ++index) {
    Request* request = requests[static_cast<std::size_t>(index)];
    if (request == nullptr) {
      continue;
    }
    any_active = true;
    if (is_over(request)) {
      *indx = index;
      break;
    }
  }
  *flag = !any_active || *indx != MPI_UNDEFINED ? 1 : 0;
  if (*indx == MPI_UNDEFINED) {
    if (any_active) {
      looked_in_vain(requests.data(), count, false);
    } else {
      core::set_empty_status(status);
    }
    return MPI_SUCCESS;
  }
  wait::fruitful_test();
  return complete(&array_of_requests[*indx], status);
}

int Waitsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
             MPI_Status array_of_statuses[]) {
  const std::vector<Request*> requests = all_active(incount, array_of_requests);
  core::progress();
  int found = find_complete(requests, array_of_indices);
  if (found == 0) {
    wait_any(requests.data(), incount);
    found = find_complete(requests, array_of_indices);
  }
  *outcount = found < 0 ? MPI_UNDEFINED : found;
  return complete_some(found, array_of_requests, array_of_indices, array_of_statuses);
}

int Testsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
             MPI_Status array_of_statuses[]) {
  const std::vector<Request*> requests = all_active(incount, array_of_requests);
  core::progress();
  const int found = find_complete(requests, array_of_indices);
  *outcount = found < 0 ? MPI_UNDEFINED : found;
  if (found == 0) {
    looked_in_vain(requests.data(), incount, false);
  } else if (found > 0) {
    wait::fruitful_test();
  }
  return complete_some(found, array_of_requests, array_of_indices, array_of_statuses);
}

// --- looking without completing

int Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  Request* active = active_behind(request);
  *flag = look(active) ? 1 : 0;
  if (*flag == 0) {
    return MPI_SUCCESS;
  }
  if (active == nullptr) {
    core::set_empty_status(status);
    return MPI_SUCCESS;
  }
  return hand_over_status(*active, status);
}

int Request_get_status_all(int count, const MPI_Request array_of_requests[], int* flag,
                           MPI_Status array_of_statuses[]) {
  const std::vector<Request*> requests = all_active(count, array_of_requests);
  core::progress();
  *flag = 1;
  for (Request* request : requests) {
    if (!is_over(request)) {
      *flag = 0;
    }
  }
  if (*flag == 0) {
    looked_in_vain(requests.data(), count, true);
    return MPI_SUCCESS;
  }
  wait::fruitful_test();
  return statuses_of(requests, count, nullptr, array_of_statuses);
}

int Request_get_status_any(int count, const MPI_Request array_of_requests[], int* indx, int* flag,
                           MPI_Status* status) {
  const std::vector<Request*> requests = all_active(count, array_of_requests);
  core::progress();
  std::vector<int> indices(static_cast<std::size_t>(count) + 1);
  const int found = find_complete(requests, indices.data());
  *flag = found != 0 ? 1 : 0;
  *indx = found > 0 ? indices[0] : MPI_UNDEFINED;
  if (found > 0) {
    wait::fruitful_test();
    return hand_over_status(*requests[static_cast<std::size_t>(*indx)], status);
  }
  if (found < 0) {
    core::set_empty_status(status);
  } else {
    looked_in_vain(requests.data(), count, false);
  }
  return MPI_SUCCESS;
}

int Request_get_status_some(int incount, const MPI_Request array_of_requests[], int* outcount,
                            int array_of_indices[], MPI_Status array_of_statuses[]) {
  const std::vector<Request*> requests = all_active(incount, array_of_requests);
  core::progress();
  const int found = find_complete(requests, array_of_indices);
  *outcount = found < 0 ? MPI_UNDEFINED : found;
  if (found == 0) {
    looked_in_vain(requests.data(), incount, false);
  } else if (found > 0) {
    wait::fruitful_test();
  }
  return statuses_of(requests, found, array_of_indices, array_of_statuses);
}

// --- persistent requests, the end of requests

int Start(MPI_Request* request) {
  auto* persistent = reinterpret_cast<Request*>(*request);
  if (*request == MPI_REQUEST_NULL || !persistent->persistent || persistent->active) {
    return fail(MPI_ERR_REQUEST, "the request is not an inactive persistent one");
  }
  persistent->active = true;
  const int result = persistent->start();
  if (result != MPI_SUCCESS) {
    persistent->active = false;
    attribute_error(persistent->comm);
  }
  return result;
}

int Startall(int count, MPI_Request array_of_requests[]) {
  for (int index = 0; index < count; ++index) {
    if (const int result = Start(&array_of_requests[index]); result != MPI_SUCCESS) {
      return result;
    }
  }
  return MPI_SUCCESS;
}

int Request_free(MPI_Request* request) {
  auto* freed = reinterpret_cast<Request*>(*request);
  *request = MPI_REQUEST_NULL;
  if (freed == core::completed_send) {
    return MPI_SUCCESS;
  }
  const bool is_over =
      !freed->active && (freed->type != Request::Type::partitioned_receive ||
                         !static_cast<core::PartitionedReceive*>(freed)->outlive_handle());
  if (is_over) {
    delete freed;
  } else {
    freed->persistent = false;
    // A copy of the handle is none any more, but for the one that MPI_Grequest_complete is given.
    if (freed->type != Request::Type::generalized) {
      freed->kind = Kind::freed;
    }
    core::abandon(freed);
  }
  return MPI_SUCCESS;
}

int Cancel(MPI_Request* request) {
  auto* cancelled = reinterpret_cast<Request*>(*request);
  if (!cancelled->active) {
    attribute_error(cancelled->comm);
    return fail(MPI_ERR_REQUEST, "the request is persistent and has not been started");
  }
  return cancelled->cancel();
}

}  // namespace meantime::api
