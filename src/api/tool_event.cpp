// MPI 5.0, 15.3.8: events. Meantime has no event types and no sources, so every index and handle is
// an invalid one, and tools see that there is nothing to register for.
#include "api/generated/calls.h"
#include "core/tool/text.h"

namespace meantime::api {

int T_source_get_num(int* num_sources) {
  tool::give(0, num_sources);
  return num_sources == nullptr ? MPI_T_ERR_INVALID : MPI_SUCCESS;
}

int T_source_get_info(int, char*, int*, char*, int*, MPI_T_source_order*, MPI_Count*, MPI_Count*,
                      MPI_Info*) {
  return MPI_T_ERR_INVALID_INDEX;
}

int T_source_get_timestamp(int, MPI_Count*) {
  return MPI_T_ERR_INVALID_INDEX;
}

int T_event_get_num(int* num_events) {
  tool::give(0, num_events);
  return num_events == nullptr ? MPI_T_ERR_INVALID : MPI_SUCCESS;
}

int T_event_get_info(int, char*, int*, int*, MPI_Datatype*, MPI_Aint*, int*, MPI_T_enum*, MPI_Info*,
                     char*, int*, int*) {
  return MPI_T_ERR_INVALID_INDEX;
}

int T_event_get_index(const char* name, int* event_index) {
  return name == nullptr || event_index == nullptr ? MPI_T_ERR_INVALID : MPI_T_ERR_INVALID_NAME;
}

int T_event_handle_alloc(int, void*, MPI_Info, MPI_T_event_registration*) {
  return MPI_T_ERR_INVALID_INDEX;
}

int T_event_handle_free(MPI_T_event_registration, void*, MPI_T_event_free_cb_function*) {
  return MPI_T_ERR_INVALID_HANDLE;
}

int T_event_handle_get_info(MPI_T_event_registration, MPI_Info*) {
  return MPI_T_ERR_INVALID_HANDLE;
}

int T_event_handle_set_info(MPI_T_event_registration, MPI_Info) {
  return MPI_T_ERR_INVALID_HANDLE;
}

int T_event_register_callback(MPI_T_event_registration, MPI_T_cb_safety, MPI_Info, void*,
                              MPI_T_event_cb_function*) {
  return MPI_T_ERR_INVALID_HANDLE;
}

int T_event_callback_get_info(MPI_T_event_registration, MPI_T_cb_safety, MPI_Info*) {
  return MPI_T_ERR_INVALID_HANDLE;
}

int T_event_callback_set_info(MPI_T_event_registration, MPI_T_cb_safety, MPI_Info) {
  return MPI_T_ERR_INVALID_HANDLE;
}

int T_event_set_dropped_handler(MPI_T_event_registration, MPI_T_event_dropped_cb_function*) {
  return MPI_T_ERR_INVALID_HANDLE;
}

int T_event_read(MPI_T_event_instance, int, void*) {
  return MPI_T_ERR_INVALID_HANDLE;
}

int T_event_copy(MPI_T_event_instance, void*) {
  return MPI_T_ERR_INVALID_HANDLE;
}

int T_event_get_timestamp(MPI_T_event_instance, MPI_Count*) {
  return MPI_T_ERR_INVALID_HANDLE;
}

int T_event_get_source(MPI_T_event_instance, int*) {
  return MPI_T_ERR_INVALID_HANDLE;
}

}  // namespace meantime::api
