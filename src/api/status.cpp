// MPI 5.0, 3.2.5, 3.8.4 and 13.3: what programs read in a status, and write to one.
#include "core/request/status.h"

#include "api/generated/calls.h"
#include "core/datatype/datatype.h"

namespace meantime::api {

int Get_count(const MPI_Status* status, Datatype& datatype, MPI_Count* count) {
  *count = whole_elements(datatype, core::status_bytes(*status));
  return MPI_SUCCESS;
}

int Get_elements(const MPI_Status* status, Datatype& datatype, MPI_Count* count) {
  *count = basic_elements(datatype, core::status_bytes(*status));
  return MPI_SUCCESS;
}

int Get_elements_x(const MPI_Status* status, Datatype& datatype, MPI_Count* count) {
  return Get_elements(status, datatype, count);
}

int Status_set_elements(MPI_Status* status, Datatype& datatype, MPI_Count count) {
  core::set_status_bytes(*status, bytes_of_elements(datatype, count));
  return MPI_SUCCESS;
}

int Status_set_elements_x(MPI_Status* status, Datatype& datatype, MPI_Count count) {
  return Status_set_elements(status, datatype, count);
}

int Test_cancelled(const MPI_Status* status, int* flag) {
  *flag = core::status_cancelled(*status) ? 1 : 0;
  return MPI_SUCCESS;
}

int Status_set_cancelled(MPI_Status* status, int flag) {
  core::set_status_cancelled(*status, flag != 0);
  return MPI_SUCCESS;
}

int Status_get_error(const MPI_Status* status, int* err) {
  *err = status->MPI_ERROR;
  return MPI_SUCCESS;
}
int Status_get_source(const MPI_Status* status, int* source) {
  *source = status->MPI_SOURCE;
  return MPI_SUCCESS;
}
int Status_get_tag(const MPI_Status* status, int* tag) {
  *tag = status->MPI_TAG;
  return MPI_SUCCESS;
}
int Status_set_error(MPI_Status* status, int err) {
  status->MPI_ERROR = err;
  return MPI_SUCCESS;
}
int Status_set_source(MPI_Status* status, int source) {
  status->MPI_SOURCE = source;
  return MPI_SUCCESS;
}
int Status_set_tag(MPI_Status* status, int tag) {
  status->MPI_TAG = tag;
  return MPI_SUCCESS;
}

}  // namespace meantime::api
