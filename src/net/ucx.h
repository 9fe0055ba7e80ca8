// UCX's functions, found in its library when a second node is there: a job of one node needs none.
#pragma once

#include <ucp/api/ucp.h>

#include <string>

namespace meantime::net {

#define MEANTIME_UCX_FUNCTIONS(each)                                                             \
  each(ucp_config_read) each(ucp_config_release) each(ucp_init_version) each(ucp_cleanup)        \
      each(ucp_worker_create) each(ucp_worker_destroy) each(ucp_worker_get_address)              \
          each(ucp_worker_release_address) each(ucp_worker_get_efd) each(ucp_worker_arm)         \
              each(ucp_worker_progress) each(ucp_worker_set_am_recv_handler) each(ucp_ep_create) \
                  each(ucp_am_send_nbx) each(ucp_am_recv_data_nbx) each(ucp_am_data_release)     \
                      each(ucp_request_free) each(ucs_status_string)

struct Ucx {
#define MEANTIME_MEMBER(name) decltype(&::name) name = nullptr;  // NOLINT: it names a member
  MEANTIME_UCX_FUNCTIONS(MEANTIME_MEMBER)
#undef MEANTIME_MEMBER

  /// Empty, or one line why it cannot be had.
  std::string load();
};

}  // namespace meantime::net
