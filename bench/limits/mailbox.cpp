// The floor of an 8-byte message: ping-pong of two bound processes through a lock-free inbox.
//
// Inbox: Vyukov's queue of many producers and one consumer, linked by indices into a pool in shared
// memory, the payload inside the link. Match lock: the flag that says who may consume. Each message
// is matched by context, source and tag against the posted receive. No handles, datatypes, requests
// or wake-ups: what an MPI adds to this is its own.
#include <cstring>

#include "processes.h"

namespace {

const char usage[] =
    "mailbox: 8-byte ping-pong through a bare lock-free inbox, half round trip\n"
    "  --seconds S   (default 1)\n"
    "  --cpus A,B    (default: the first and the last of the affinity mask)\n"
    "  --json\n";

const std::uint32_t pool_size = 512;

struct alignas(64) Link {
  std::atomic<std::uint32_t> next;  // index, 0 = none yet
  std::atomic<std::uint32_t> free;
  std::int32_t context, source, tag;
  std::uint32_t bytes;
  char payload[32];
};

struct Mailbox {
  alignas(64) std::atomic<std::uint32_t> newest;  // producers exchange themselves in here
  alignas(64) std::atomic<std::uint32_t> match_lock;
  std::uint32_t consumed;  // the last link taken; owned by the holder of the match lock
};

struct Segment {
  Mailbox boxes[2];
  Link links[1 + 2 * (pool_size + 1)];  // index 0 means none; each rank's pool and one stub
};

struct Receive {
  std::int32_t context, source, tag;
  char* buffer;
  bool done;
};

class Endpoint {
 public:
  Endpoint(Segment& segment, int rank)
      : segment_(segment),
        rank_(rank),
        first_(1 + static_cast<std::uint32_t>(rank) * (pool_size + 1)) {}

  void prepare() {
    Mailbox& box = segment_.boxes[rank_];
    for (std::uint32_t i = 0; i < pool_size; i++) segment_.links[first_ + i].free = 1;
    box.newest = box.consumed = first_ + pool_size;  // the stub
  }

  __attribute__((noinline)) void send(int to, const void* data, std::uint32_t bytes, int tag) {
    const std::uint32_t index = free_link();
    Link& link = segment_.links[index];
    link.free.store(0, std::memory_order_relaxed);
    link.context = 0;
    link.source = rank_;
    link.tag = tag;
    link.bytes = bytes;
    std::memcpy(link.payload, data, bytes);
    link.next.store(0, std::memory_order_relaxed);
    // Between the exchange and the store of `next` the consumer sees the queue end early; the store
    // publishes the link and all before it.
    const std::uint32_t before =
        segment_.boxes[to].newest.exchange(index, std::memory_order_acq_rel);
    segment_.links[before].next.store(index, std::memory_order_release);
  }

  __attribute__((noinline)) void receive(int from, void* buffer, int tag) {
    Receive posted{0, from, tag, static_cast<char*>(buffer), false};
    Mailbox& box = segment_.boxes[rank_];
    while (box.match_lock.exchange(1, std::memory_order_acquire)) bench::pause_briefly();
    while (!posted.done)
      if (!consume(box, posted)) bench::pause_briefly();
    box.match_lock.store(0, std::memory_order_release);
  }

 private:
  std::uint32_t free_link() {
    for (;;) {
      const std::uint32_t index = first_ + turn_++ % pool_size;
      if (segment_.links[index].free.load(std::memory_order_acquire)) return index;
    }
  }

  // A consumed link stays in the queue as its stub until the next one is consumed.
  bool consume(Mailbox& box, Receive& posted) {
    const std::uint32_t stub = box.consumed;
    const std::uint32_t index = segment_.links[stub].next.load(std::memory_order_acquire);
    if (index == 0) return false;
    Link& link = segment_.links[index];
    if (link.context == posted.context && link.source == posted.source && link.tag == posted.tag) {
      std::memcpy(posted.buffer, link.payload, link.bytes);
      posted.done = true;
    }
    box.consumed = index;
    segment_.links[stub].free.store(1, std::memory_order_release);
    return true;
  }

  Segment& segment_;
  int rank_;
  std::uint32_t first_, turn_ = 0;
};

void ping_pong(Segment& segment, int rank, std::vector<std::uint64_t>& stamps) {
  Endpoint endpoint(segment, rank);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < stamps.size(); i++) {
    if (rank == 0) {
      endpoint.send(1, &value, 8, 5);
      endpoint.receive(1, &value, 5);
    } else {
      endpoint.receive(0, &value, 5);
      value++;
      endpoint.send(0, &value, 8, 5);
    }
    stamps[i] = bench::now_ns();
  }
  if (rank == 0 && value != stamps.size()) {
    std::fprintf(stderr, "mailbox: a message was lost\n");
    std::exit(1);
  }
}

void body(bench::Options& options, bench::Report& report) {
  const double seconds = options.seconds("seconds", 1);
  std::vector<long> cpus = options.sizes("cpus", "");
  options.finish();
  const std::vector<int> allowed = bench::allowed_cpus();
  if (cpus.size() != 2) cpus = {allowed.front(), allowed.back()};
  report.header("mailbox", {{"cpus", std::to_string(cpus[0]) + "," + std::to_string(cpus[1])}});
  auto measure = [&](std::size_t turns) {
    auto* segment = static_cast<Segment*>(bench::shared_memory(sizeof(Segment)));
    for (int rank : {0, 1}) Endpoint(*segment, rank).prepare();
    std::vector<std::uint64_t> stamps(turns);
    bench::run_processes(2, [&](int rank) {
      bench::bind_to(static_cast<int>(cpus[static_cast<std::size_t>(rank)]));
      ping_pong(*segment, rank, stamps);
    });
    munmap(segment, sizeof *segment);
    return bench::distribution_of(bench::differences(stamps));
  };
  const bench::Distribution trial = measure(2000);
  const double turns = seconds * 1e9 / std::max(trial.median, 50.0);
  report.row("ping-pong", {{"bytes", 8}}, "us",
             measure(static_cast<std::size_t>(std::clamp(turns, 1000.0, 1e7))).scaled(0.5e-3));
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_prototype(argc, argv, usage, body);
}
