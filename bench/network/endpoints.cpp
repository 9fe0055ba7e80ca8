// What UCX alone keeps for each process that one is connected to: the bare prototype of
// `network --operations connections`, and built like src/net/network.cpp, by active messages.
//
// One process greets others, of which each has a worker of its own, with 8 bytes by which they
// answer: first one of them, then the rest. The growth of its resident memory by one of these.
#include <sys/mman.h>
#include <ucp/api/ucp.h>

#include <cstring>

#include "../common/memory.h"
#include "../limits/processes.h"

namespace {

const char usage[] =
    "endpoints: resident memory by connection, of UCX alone\n"
    "  --connections N   (default 32)\n"
    "  --json\n";

constexpr std::size_t most_address = 4096;

struct Shared {
  struct Address {
    char bytes[most_address];
    std::size_t length = 0;
  };
  std::atomic<int> ready{0};
  std::atomic<bool> over{false};
};

void good(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return;
  std::fprintf(stderr, "endpoints: %s: %s\n", what, ucs_status_string(status));
  std::exit(1);
}

class Worker {
 public:
  Worker() {
    ucp_config_t* config = nullptr;
    good(ucp_config_read(nullptr, nullptr, &config), "its configuration");
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    good(ucp_init(&params, config, &context_), "ucp_init");
    ucp_config_release(config);
    ucp_worker_params_t of_worker{};
    of_worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    of_worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    good(ucp_worker_create(context_, &of_worker, &worker_), "ucp_worker_create");
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                         UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = 1;
    handler.cb = &Worker::on_message;
    handler.arg = this;
    good(ucp_worker_set_am_recv_handler(worker_, &handler), "ucp_worker_set_am_recv_handler");
  }

  void publish(Shared::Address& to) {
    ucp_address_t* address = nullptr;
    good(ucp_worker_get_address(worker_, &address, &to.length), "ucp_worker_get_address");
    bench::require(to.length <= most_address, "an address is too long");
    std::memcpy(to.bytes, address, to.length);
    ucp_worker_release_address(worker_, address);
  }

  void greet(const Shared::Address& whom) {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = reinterpret_cast<const ucp_address_t*>(whom.bytes);
    ucp_ep_h endpoint = nullptr;
    good(ucp_ep_create(worker_, &params, &endpoint), "ucp_ep_create");
    static const std::uint64_t word = 0;
    const ucp_request_param_t how{};
    void* const request =
        ucp_am_send_nbx(endpoint, 1, &word, sizeof word, &word, sizeof word, &how);
    if (UCS_PTR_IS_ERR(request)) good(UCS_PTR_STATUS(request), "ucp_am_send_nbx");
    if (request == nullptr) return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker_);
    ucp_request_free(request);
  }

  void progress_until(const std::function<bool()>& done) {
    while (!done())
      if (ucp_worker_progress(worker_) == 0) usleep(100);
  }

  int heard = 0;

 private:
  static ucs_status_t on_message(void* worker, const void* /*header*/, std::size_t /*bytes*/,
                                 void* /*data*/, std::size_t /*length*/,
                                 const ucp_am_recv_param_t* /*how*/) {
    static_cast<Worker*>(worker)->heard++;
    return UCS_OK;
  }

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
};

// Those that are greeted.
void answer(const Shared::Address& greeter, Shared::Address& own, Shared& shared) {
  Worker worker;
  worker.publish(own);
  shared.ready++;
  worker.progress_until([&] { return worker.heard > 0; });
  worker.greet(greeter);
  worker.progress_until([&] { return shared.over.load(); });
}

void body(bench::Options& options, bench::Report& report) {
  const int connections = static_cast<int>(options.count("connections", 32));
  options.finish();
  if (connections < 2 || connections > 1000)
    throw bench::UsageError("--connections wants a number from 2 to 1000");
  report.header("endpoints", {});
  auto& shared = *bench::shared_object<Shared>();
  auto* const addresses = static_cast<Shared::Address*>(
      bench::shared_memory(static_cast<std::size_t>(connections + 1) * sizeof(Shared::Address)));
  double each = 0;
  bench::run_processes(connections + 1, [&](int rank) {
    // The greeter's address is there before the others are: they get it with the greeting alone.
    if (rank != 0) return answer(addresses[0], addresses[rank], shared);
    Worker worker;
    worker.publish(addresses[0]);
    while (shared.ready < connections) usleep(1000);
    const auto greet = [&](int from, int to) {
      for (int other = from; other < to; other++) {
        worker.greet(addresses[other]);
        worker.progress_until([&] { return worker.heard == other; });
      }
    };
    greet(1, 2);
    const double one = bench::resident_kib();
    greet(2, connections + 1);
    each = (bench::resident_kib() - one) / (connections - 1);
    shared.over = true;
  });
  report.row("memory by connection", {{"connections", connections}}, "KiB",
             bench::distribution_of({each}));
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_prototype(argc, argv, usage, body);
}
