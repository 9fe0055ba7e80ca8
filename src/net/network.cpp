#include "net/network.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/descriptor_limit.h"
#include "base/replaced.h"
#include "net/outside_of_rank.h"
#include "net/start_of_ucx.h"

namespace meantime::net {

constinit Network* detail::host_network = nullptr;
void (*Network::cannot_connect)(int world_rank, const char* problem) = nullptr;
constinit ActFor detail::act_for = nullptr;

}  // namespace meantime::net

#if __has_include(<ucp/api/ucp.h>)
#include "net/ucx.h"

namespace meantime::net {

constexpr unsigned message_id = 1;

struct Network::Parts {
  Ucx ucx;
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;    ///< known to others: takes in what comes, sends what is eager
  ucp_worker_h offering = nullptr;  ///< offers; until the first offer nobody looks at it
  int offering_efd = -1;
  bool has_offered = false;
  bool was_armed = false;  ///< and nobody has looked at both since
  int offers_under_way = 0;
  std::uint32_t turns = 0;
  struct Endpoint {
    Network* network;
    int world_rank;
    ucp_ep_h endpoint;
  };
  struct Process {
    std::array<std::unique_ptr<Endpoint>, 2> endpoints;  ///< of `worker` and of `offering`
    bool is_met = false;  ///< an endpoint of the first kind is there, or could not be made
  };
  std::vector<Process> processes;  ///< by process_of

  // No exception leaves these: no memory for a few bytes is the end of the process.
  static ucs_status_t on_message(void* argument, const void* header, std::size_t header_bytes,
                                 void* data, std::size_t bytes,
                                 const ucp_am_recv_param_t* how) noexcept {
    Network& network = *static_cast<Network*>(argument);
    Heading heading;
    if (header_bytes >= sizeof heading) {
      std::memcpy(&heading, header, sizeof heading);
    }
    const auto origin = static_cast<int>(heading.origin);
    const auto destination = static_cast<int>(heading.destination);
    if (header_bytes < sizeof heading || heading.token != network.token_ ||
        heading.destination >= network.inboxes_.size() || network.is_elsewhere(destination) ||
        heading.origin >= network.inboxes_.size() || !network.is_elsewhere(origin)) {
      network.strangers_.fetch_add(1, std::memory_order_relaxed);
      return UCS_OK;
    }
    const bool offered = (how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    const Arrival arrival{.kind = offered ? Arrival::Kind::offer : Arrival::Kind::message,
                          .header = header,
                          .header_bytes = header_bytes,
                          .payload = data,
                          .bytes = bytes};
    bool wanted = true;
    if (network.parts_->process(network, origin).is_met) {
      wanted = network.deliver(destination, arrival);
    } else {
      network.first_messages_.push_back({origin, destination, Queued(arrival)});
    }
    return offered && wanted ? UCS_INPROGRESS : UCS_OK;
  }
  static void on_error(void* argument, ucp_ep_h /*endpoint*/, ucs_status_t status) noexcept {
    const Endpoint& to = *static_cast<Endpoint*>(argument);
    Network& network = *to.network;
    const char* const problem = network.parts_->ucx.ucs_status_string(status);
    for (std::size_t rank = 0; rank < network.inboxes_.size(); ++rank) {
      if (network.inboxes_[rank].receiver != nullptr) {
        network.deliver(static_cast<int>(rank),
                        {.kind = Arrival::Kind::loss, .problem = problem, .lost = to.world_rank});
      }
    }
  }
  void over(Network& network, void* request, ucs_status_t status, Operation& operation) const {
    ucx.ucp_request_free(request);
    network.deliver(operation.owner_rank(),
                    {.kind = Arrival::Kind::operation,
                     .operation = &operation,
                     .problem = status == UCS_OK ? nullptr : ucx.ucs_status_string(status)});
  }
  static void on_sent(void* request, ucs_status_t status, void* operation) noexcept {
    detail::host_network->parts_->over(*detail::host_network, request, status,
                                       *static_cast<Operation*>(operation));
  }
  static void on_offered(void* request, ucs_status_t status, void* operation) noexcept {
    --detail::host_network->parts_->offers_under_way;
    on_sent(request, status, operation);
  }
  static void on_fetched(void* request, ucs_status_t status, std::size_t /*bytes*/,
                         void* operation) noexcept {
    detail::host_network->parts_->over(*detail::host_network, request, status,
                                       *static_cast<Operation*>(operation));
  }

  Process& process(const Network& network, int world_rank) {
    processes.resize(network.addresses_.size());
    return processes[static_cast<std::size_t>(network.process_of(world_rank))];
  }

  /// nullptr: it cannot be made, and the network's problem says why.
  ucp_ep_h endpoint_of(Network& network, int world_rank, bool offers) {
    Process& other = process(network, world_rank);
    other.is_met = other.is_met || !offers;
    std::unique_ptr<Endpoint>& place = other.endpoints[offers];
    if (place != nullptr) {
      return place->endpoint;
    }
    auto made = std::make_unique<Endpoint>(Endpoint{&network, world_rank, nullptr});
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLER |
                        UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.address = reinterpret_cast<const ucp_address_t*>(
        network.addresses_[static_cast<std::size_t>(world_rank)].data() + sizeof token_);
    params.err_mode = UCP_ERR_HANDLING_MODE_NONE;
    params.err_handler.cb = &Parts::on_error;
    params.err_handler.arg = made.get();
    network.silence_.wait_begins();
    if (network.listener_ != nullptr) {
      network.listener_->start_thread();
    }
    network.connecting_since_.store(now_seconds(), std::memory_order_relaxed);
    network.connecting_to_.store(world_rank, std::memory_order_release);
    const ucs_status_t status =
        ucx.ucp_ep_create(offers ? offering : worker, &params, &made->endpoint);
    network.connecting_to_.store(-1, std::memory_order_relaxed);
    if (status != UCS_OK) {
      network.problem_ = ucx.ucs_status_string(status);
      return nullptr;
    }
    place = std::move(made);
    return place->endpoint;
  }

  std::string make_workers(int& efd) {
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    for (const auto& [made, its_efd] : {std::pair{&worker, &efd}, {&offering, &offering_efd}}) {
      if (const ucs_status_t status = ucx.ucp_worker_create(context, &params, made);
          status != UCS_OK) {
        return failed("ucp_worker_create", status);
      }
      if (const ucs_status_t status = ucx.ucp_worker_get_efd(*made, its_efd); status != UCS_OK) {
        return failed("ucp_worker_get_efd", status);
      }
    }
    return {};
  }

  /// From now on the other worker's descriptor hears what this one hears, too: armed, for who
  /// listens already. 0, or an errno.
  int begin_to_offer(int efd) {
    while (ucx.ucp_worker_arm(offering) == UCS_ERR_BUSY) {
      ucx.ucp_worker_progress(offering);
    }
    epoll_event readable{};
    readable.events = EPOLLIN;
    if (epoll_ctl(efd, EPOLL_CTL_ADD, offering_efd, &readable) != 0) {
      return errno;
    }
    has_offered = true;
    return 0;
  }

  bool progress() {
    // With nothing of its own under way UCX may still have to answer or to write something there.
    constexpr std::uint32_t turns_a_look = 16;
    const bool moved = ucx.ucp_worker_progress(worker) != 0;
    const bool looks = has_offered && (offers_under_way != 0 || std::exchange(was_armed, false) ||
                                       ++turns % turns_a_look == 0);
    return (looks && ucx.ucp_worker_progress(offering) != 0) || moved;
  }

  bool arm() {
    was_armed = true;
    return ucx.ucp_worker_arm(worker) == UCS_OK &&
           (!has_offered || ucx.ucp_worker_arm(offering) == UCS_OK);
  }

  std::string failed(const char* what, ucs_status_t status) const {
    return fmt::format("no network: UCX: {}: {}", what, ucx.ucs_status_string(status));
  }
};

Network::Network() : parts_(std::make_unique<Parts>()) {}

// What UCX has is not given back: this is the end of the process, and a worker that is destroyed
// talks to peers that have ended.
Network::~Network() = default;

std::string Network::open() {
  Ucx& ucx = parts_->ucx;
  const StartOfUcx start;
  raise_descriptor_limit();  // each connection has one
  if (std::string problem = ucx.load(); !problem.empty()) {
    return problem;
  }
  ucp_config_t* config = nullptr;
  if (const ucs_status_t status = ucx.ucp_config_read(nullptr, nullptr, &config);
      status != UCS_OK) {
    return parts_->failed("its configuration", status);
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  ucs_status_t status =
      ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &parts_->context);
  ucx.ucp_config_release(config);
  if (status != UCS_OK) {
    return parts_->failed("ucp_init", status);
  }
  if (std::string problem = parts_->make_workers(efd_); !problem.empty()) {
    return problem;
  }
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = message_id;
  handler.cb = &Parts::on_message;
  handler.arg = this;
  status = ucx.ucp_worker_set_am_recv_handler(parts_->worker, &handler);
  if (status != UCS_OK) {
    return parts_->failed("ucp_worker_set_am_recv_handler", status);
  }
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  status = ucx.ucp_worker_get_address(parts_->worker, &address, &bytes);
  if (status != UCS_OK) {
    return parts_->failed("ucp_worker_get_address", status);
  }
  if (getrandom(&token_, sizeof token_, 0) != sizeof token_) {
    return "no network: the kernel gives no random numbers";
  }
  address_.assign(reinterpret_cast<const char*>(&token_), sizeof token_);
  address_.append(reinterpret_cast<const char*>(address), bytes);
  ucx.ucp_worker_release_address(parts_->worker, address);
  threads_of_ucx_ = start.threads();
  silence_.watch_sets_among(start.descriptors());
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

Sent Network::send(Heading& header, std::size_t header_bytes, const void* payload,
                   std::size_t bytes, bool offer, Operation& operation) {
  const auto world_rank = static_cast<int>(header.destination);
  std::memcpy(&header.token, addresses_[header.destination].data(), sizeof header.token);
  const LockGuard guard(lock_);
  const OutsideOfRank scope;
  const ucp_ep_h endpoint = parts_->endpoint_of(*this, world_rank, offer);
  if (endpoint == nullptr) {
    return Sent::failed;
  }
  if (offer && !parts_->has_offered) {
    if (const int error = parts_->begin_to_offer(efd_); error != 0) {
      problem_ = std::strerror(error);
      return Sent::failed;
    }
  }
  ucp_request_param_t how{};
  how.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  how.cb.send = offer ? &Parts::on_offered : &Parts::on_sent;
  how.user_data = &operation;
  how.flags = offer ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
  const Sent sent = outcome(parts_->ucx.ucp_am_send_nbx(endpoint, message_id, &header, header_bytes,
                                                        payload, bytes, &how));
  parts_->offers_under_way += offer && sent == Sent::under_way ? 1 : 0;
  return sent;
}

// Who is heard from is connected to, so that its end is noticed. Not while UCX calls: an endpoint
// takes its connection over from what UCX 1.13 still reads from, and crashes, if more has come.
void Network::take_first_messages() noexcept {
  while (!first_messages_.empty()) {
    for (FirstMessage& each : std::exchange(first_messages_, {})) {
      parts_->endpoint_of(*this, each.origin, false);
      if (!deliver(each.destination, each.message.arrival())) {
        refuse(each.message.what.payload);
      }
    }
  }
}

Sent Network::fetch(void* payload, void* to, std::size_t bytes, Operation& operation) {
  const LockGuard guard(lock_);
  const OutsideOfRank scope;
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  how.cb.recv_am = &Parts::on_fetched;
  how.user_data = &operation;
  return outcome(parts_->ucx.ucp_am_recv_data_nbx(parts_->worker, payload, to, bytes, &how));
}

bool Network::progress(Receiver* as, Poller poller) {
  if (!lock_.try_lock()) {
    return false;  // another rank looks
  }
  const OutsideOfRank scope;
  bool moved = false;
  {
    const Replaced of(polls_as_, as);
    const Replaced time(poller_, poller);
    moved = parts_->progress();
    take_first_messages();
  }
  // For those that poll and never sleep.
  constexpr std::uint32_t turns_between_looks = 1 << 16;
  if (!moved && ++vain_turns_ % turns_between_looks == 0) {
    silence_.wait_begins();
    look_for_silence();
  }
  lock_.unlock();
  return moved;
}

void Network::refuse(void* offer) {
  const LockGuard guard(lock_);
  const OutsideOfRank scope;
  parts_->ucx.ucp_am_data_release(parts_->worker, offer);
}

// Where UCX has taken the event to answer "busy", nobody may be called for it: so whoever sleeps
// looks anew.
bool Network::arm() {
  const LockGuard guard(lock_);
  const OutsideOfRank scope;
  const bool armed = parts_->arm();
  if (!armed && is_listening_.exchange(false, std::memory_order_seq_cst)) {
    for (std::size_t rank = 0; rank < inboxes_.size(); ++rank) {
      if (inboxes_[rank].receiver != nullptr) {
        ring_(static_cast<int>(rank));
      }
    }
  }
  return armed;
}

bool Network::arm_for_sleep() {
  const LockGuard guard(lock_);
  const OutsideOfRank scope;
  silence_.wait_begins();
  return arm();
}

bool Network::listen() {
  if (is_listening_.load(std::memory_order_seq_cst) && silence_.will_look()) {
    return true;
  }
  const LockGuard guard(lock_);
  const OutsideOfRank scope;
  silence_.wait_begins();
  if (is_listening_.load(std::memory_order_relaxed)) {
    return true;
  }
  if (!arm()) {
    return false;
  }
  is_listening_.store(true, std::memory_order_seq_cst);
  if (listener_->listen() != 0) {
    is_listening_.store(false, std::memory_order_seq_cst);
    return false;
  }
  return true;
}

}  // namespace meantime::net

#endif
