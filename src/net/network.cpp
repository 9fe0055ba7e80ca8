#include "net/network.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <set>
#include <utility>

namespace meantime::net {

constinit Network* detail::host_network = nullptr;

void Network::set_peers(std::vector<int> nodes, std::vector<std::string> addresses) {
  nodes_ = std::move(nodes);
  addresses_ = std::move(addresses);
  const std::set<int> different(nodes_.begin(), nodes_.end());
  node_count_ = static_cast<int>(different.size());
  const auto here = std::find_if(addresses_.begin(), addresses_.end(),
                                 [](const std::string& address) { return address.empty(); });
  const int own = nodes_[static_cast<std::size_t>(here - addresses_.begin())];
  own_node_ = static_cast<int>(std::distance(different.begin(), different.find(own)));
}

}  // namespace meantime::net

#if __has_include(<ucp/api/ucp.h>)
#include "net/ucx.h"

namespace meantime::net {
namespace {

constexpr unsigned message_id = 1;

std::set<int> open_descriptors() {
  std::set<int> all;
  if (DIR* const folder = opendir("/proc/self/fd"); folder != nullptr) {
    while (const dirent* const entry = readdir(folder)) {
      all.insert(std::atoi(entry->d_name));
    }
    all.erase(dirfd(folder));
    closedir(folder);
  }
  return all;
}

/// For MPI_Init, where UCX opens descriptors: they are not for what the program executes. (What it
/// opens for connections later could be told from what another thread opens by nobody.)
class CloseOnExecute {
 public:
  CloseOnExecute() : before_(open_descriptors()) {}
  ~CloseOnExecute() {
    for (const int descriptor : open_descriptors()) {
      if (before_.count(descriptor) == 0) {
        fcntl(descriptor, F_SETFD, FD_CLOEXEC);
      }
    }
  }
  CloseOnExecute(const CloseOnExecute&) = delete;
  CloseOnExecute& operator=(const CloseOnExecute&) = delete;

 private:
  const std::set<int> before_;
};

/// For a scope in which UCX starts threads: signals are the program's own threads' affair.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

struct Network::Parts {
  Ucx ucx;
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  struct Endpoint {
    Network* network;
    int world_rank;
    ucp_ep_h endpoint;
  };
  std::vector<std::unique_ptr<Endpoint>> endpoints;  ///< by world rank, made when first used

  static ucs_status_t on_message(void* argument, const void* header, std::size_t header_bytes,
                                 void* data, std::size_t bytes, const ucp_am_recv_param_t* how) {
    Receiver& receiver = *static_cast<Network*>(argument)->receiver_;
    if ((how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
      return receiver.offered(header, header_bytes, data, bytes) ? UCS_INPROGRESS : UCS_OK;
    }
    receiver.arrived(header, header_bytes, data, bytes);
    return UCS_OK;
  }
  static void on_error(void* argument, ucp_ep_h /*endpoint*/, ucs_status_t status) {
    const Endpoint& to = *static_cast<Endpoint*>(argument);
    Network& network = *to.network;
    if (network.receiver_ != nullptr) {
      network.receiver_->lost(to.world_rank, network.parts_->ucx.ucs_status_string(status));
    }
  }
  void over(void* request, ucs_status_t status, void* operation) const {
    ucx.ucp_request_free(request);
    static_cast<Operation*>(operation)->over(status == UCS_OK ? nullptr
                                                              : ucx.ucs_status_string(status));
  }
  static void on_sent(void* request, ucs_status_t status, void* operation) {
    detail::host_network->parts_->over(request, status, operation);
  }
  static void on_fetched(void* request, ucs_status_t status, std::size_t /*bytes*/,
                         void* operation) {
    detail::host_network->parts_->over(request, status, operation);
  }

  /// nullptr: it cannot be made, and the network's problem says why.
  ucp_ep_h endpoint_of(Network& network, int world_rank) {
    endpoints.resize(network.addresses_.size());
    auto& place = endpoints[static_cast<std::size_t>(world_rank)];
    if (place != nullptr) {
      return place->endpoint;
    }
    auto made = std::make_unique<Endpoint>(Endpoint{&network, world_rank, nullptr});
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLER |
                        UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.address = reinterpret_cast<const ucp_address_t*>(
        network.addresses_[static_cast<std::size_t>(world_rank)].data());
    params.err_mode = UCP_ERR_HANDLING_MODE_NONE;
    params.err_handler.cb = &Parts::on_error;
    params.err_handler.arg = made.get();
    const ucs_status_t status = ucx.ucp_ep_create(worker, &params, &made->endpoint);
    if (status != UCS_OK) {
      network.problem_ = ucx.ucs_status_string(status);
      return nullptr;
    }
    place = std::move(made);
    return place->endpoint;
  }
};

Network::Network() : parts_(std::make_unique<Parts>()) {}

// What UCX has is not given back: this is the end of the process, and a worker that is destroyed
// talks to peers that have ended.
Network::~Network() = default;

std::string Network::open() {
  Ucx& ucx = parts_->ucx;
  const CloseOnExecute scope;
  const SignalsBlocked elsewhere;
  if (std::string problem = ucx.load(); !problem.empty()) {
    return problem;
  }
  const auto failed = [&ucx](const char* what, ucs_status_t status) {
    return fmt::format("no network: UCX: {}: {}", what, ucx.ucs_status_string(status));
  };
  ucp_config_t* config = nullptr;
  if (const ucs_status_t status = ucx.ucp_config_read(nullptr, nullptr, &config);
      status != UCS_OK) {
    return failed("its configuration", status);
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  ucs_status_t status =
      ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &parts_->context);
  ucx.ucp_config_release(config);
  if (status != UCS_OK) {
    return failed("ucp_init", status);
  }
  ucp_worker_params_t of_worker{};
  of_worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  of_worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  status = ucx.ucp_worker_create(parts_->context, &of_worker, &parts_->worker);
  if (status != UCS_OK) {
    return failed("ucp_worker_create", status);
  }
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = message_id;
  handler.cb = &Parts::on_message;
  handler.arg = this;
  status = ucx.ucp_worker_set_am_recv_handler(parts_->worker, &handler);
  if (status != UCS_OK) {
    return failed("ucp_worker_set_am_recv_handler", status);
  }
  status = ucx.ucp_worker_get_efd(parts_->worker, &efd_);
  if (status != UCS_OK) {
    return failed("ucp_worker_get_efd", status);
  }
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  status = ucx.ucp_worker_get_address(parts_->worker, &address, &bytes);
  if (status != UCS_OK) {
    return failed("ucp_worker_get_address", status);
  }
  address_.assign(reinterpret_cast<const char*>(address), bytes);
  ucx.ucp_worker_release_address(parts_->worker, address);
  return {};
}

Sent Network::outcome(void* request) {
  if (request == nullptr) {
    return Sent::now;
  }
  if (UCS_PTR_IS_ERR(request)) {
    problem_ = parts_->ucx.ucs_status_string(UCS_PTR_STATUS(request));
    return Sent::failed;
  }
  return Sent::under_way;
}

Sent Network::send(int world_rank, const void* header, std::size_t header_bytes,
                   const void* payload, std::size_t bytes, bool offer, Operation& operation) {
  const ucp_ep_h endpoint = parts_->endpoint_of(*this, world_rank);
  if (endpoint == nullptr) {
    return Sent::failed;
  }
  ucp_request_param_t how{};
  how.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  how.cb.send = &Parts::on_sent;
  how.user_data = &operation;
  how.flags = offer ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
  return outcome(parts_->ucx.ucp_am_send_nbx(endpoint, message_id, header, header_bytes, payload,
                                             bytes, &how));
}

void Network::connect(int world_rank) {
  parts_->endpoint_of(*this, world_rank);
}

bool Network::is_connected(int world_rank) const {
  const auto place = static_cast<std::size_t>(world_rank);
  return place < parts_->endpoints.size() && parts_->endpoints[place] != nullptr;
}

Sent Network::fetch(void* payload, void* to, std::size_t bytes, Operation& operation) {
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  how.cb.recv_am = &Parts::on_fetched;
  how.user_data = &operation;
  return outcome(parts_->ucx.ucp_am_recv_data_nbx(parts_->worker, payload, to, bytes, &how));
}

bool Network::progress() {
  return parts_->ucx.ucp_worker_progress(parts_->worker) != 0;
}

bool Network::arm() {
  return parts_->ucx.ucp_worker_arm(parts_->worker) == UCS_OK;
}

}  // namespace meantime::net

#else

namespace meantime::net {

struct Network::Parts {};

Network::Network() = default;
Network::~Network() = default;
std::string Network::open() {
  return "the job has several nodes, and this Meantime was built without UCX (Debian: apt install "
         "libucx-dev, then build it again)";
}
Sent Network::outcome(void*) {
  return Sent::failed;
}
Sent Network::send(int, const void*, std::size_t, const void*, std::size_t, bool, Operation&) {
  return Sent::failed;
}
void Network::connect(int) {}
bool Network::is_connected(int) const {
  return false;
}
Sent Network::fetch(void*, void*, std::size_t, Operation&) {
  return Sent::failed;
}
bool Network::progress() {
  return false;
}
bool Network::arm() {
  return true;
}

}  // namespace meantime::net
#endif
