// What the parts of a process cost that have something for each rank of the world: the runtime's
// own code, with as many ranks as wanted, without a job. Memory is what the process has more of.
//
//   address     bytes by which others find a process, as UCX gives them here
//   segment     of a node: what is behind it when it was made (to be given back), and the time
//   addresses   Network::set_peers: who is where, of each process
//   peers       a look at what a rank keeps of each other one, as MPI_Finalize takes it
//   nodes       who is on which node, of each communicator
//   card        what a rank reads of each other one from its wire-up (core/start/task.cpp), as text
//   poll        a supervisor's look whether one of its tasks has ended
//   (launch/tasks/task_listener.cpp) supervisor  what it keeps of each rank (launch/job.h) look
//   where other ranks poll, which a rank asks after 64 yields (policy/spreading.h): the
//               first one and a later one
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "../common/memory.h"
#include "../common/options.h"
#include "../common/report.h"
#include "../common/samples.h"
#include "core/comm/nodes.h"
#include "launch/job.h"
#include "match/local.h"
#include "net/network.h"
#include "node/segment.h"
#include "policy/spreading.h"

namespace {

using namespace meantime;

const char usage[] =
    "parts: memory and time of what a process has for each rank of the world\n"
    "  --ranks LIST      of the world (default 8192,65536,1280000)\n"
    "  --segment-ranks LIST   the same for the segment (default 8192,32768)\n"
    "  --ranks-a-node N  (default 128)\n"
    "  --json\n";

class Growth {
 public:
  double bytes() const { return (bench::resident_kib() - before_kib_) * 1024; }
  double seconds() const { return static_cast<double>(bench::now_ns() - before_ns_) * 1e-9; }

 private:
  double before_kib_ = bench::resident_kib();
  std::uint64_t before_ns_ = bench::now_ns();
};

class Parts {
 public:
  Parts(bench::Report& report, long ranks_a_node) : report_(report), ranks_a_node_(ranks_a_node) {}

  bool address() {
    const Growth opened;
    if (const std::string problem = network_->open(); !problem.empty()) {
      report_.skip("address", {}, problem);
      return false;
    }
    own_ = network_->address();
    const double bytes = sizeof(launch::RankProcess);
    report_.row("supervisor", {}, "B", bench::distribution_of({bytes}));
    report_.row("opened", {}, "us", bench::distribution_of({opened.seconds() * 1e6}));
    report_.row("address", {}, "B", bench::distribution_of({static_cast<double>(own_.size())}));
    return true;
  }

  void addresses(long ranks) {
    std::vector<int> nodes;
    std::vector<std::string> of_rank;
    const Growth growth;
    for (long rank = 0; rank < ranks; ++rank) {
      nodes.push_back(static_cast<int>(rank / ranks_a_node_ * ranks_a_node_));
      of_rank.push_back(rank < ranks_a_node_ ? std::string() : of(rank));
    }
    const Growth more;
    network_->set_peers(std::move(nodes), std::move(of_rank));
    tell("addresses", ranks, growth.bytes(), more.seconds());
  }

  void peers(long ranks) {
    const Growth growth;
    match::Peers all(static_cast<int>(ranks));
    long known = 0;
    for (long rank = 0; rank < ranks; ++rank) known += all[static_cast<int>(rank)].is_known;
    tell("peers", ranks, growth.bytes() + static_cast<double>(known), growth.seconds());
  }

  void nodes(long ranks) {
    const Growth growth;
    auto members = std::make_shared<Nodes::Members>();
    for (long rank = 0; rank < ranks; ++rank) {
      if (rank % ranks_a_node_ == 0) members->emplace_back();
      members->back().push_back(static_cast<int>(rank));
    }
    const Nodes all(std::move(members));
    const double bytes = growth.bytes();
    const Growth search;
    if (all.node_of(static_cast<int>(ranks - 1)) != all.count() - 1) std::abort();
    tell("nodes", ranks, bytes, search.seconds());
  }

  void cards(long ranks) {
    std::string text;
    for (const char byte : own_) {
      const auto value = static_cast<unsigned char>(byte);
      text += "0123456789abcdef"[value / 16];
      text += "0123456789abcdef"[value % 16];
    }
    long bytes = 0;
    const Growth growth;
    for (long rank = 0; rank < ranks; ++rank) {
      std::string address;
      for (std::size_t place = 0; place + 2 <= text.size(); place += 2) {
        unsigned byte = 0;
        std::from_chars(text.data() + place, text.data() + place + 2, byte, 16);
        address += static_cast<char>(byte);
      }
      bytes += static_cast<long>(text.size() + std::to_string(rank).size() + 2);
    }
    tell("card", ranks, static_cast<double>(bytes), growth.seconds());
  }

  void poll_all(long ranks) {
    std::vector<pollfd> all;
    const Growth growth;
    for (long rank = 0; rank < ranks; ++rank) all.push_back({-1, POLLIN, 0});
    if (poll(all.data(), all.size(), 0) != 0) {
      report_.skip("poll", {{"ranks", ranks}}, "more than ulimit -n");
      return;
    }
    tell("poll", ranks, sizeof(pollfd) * static_cast<double>(ranks), growth.seconds());
  }

  void segment(long ranks) {
    const Growth growth;
    const int descriptor = node::create_segment(static_cast<int>(ranks), 128);
    const double seconds = growth.seconds();
    struct stat file {};
    if (descriptor < 0 || fstat(descriptor, &file) != 0) std::abort();
    tell("segment", ranks, static_cast<double>(file.st_blocks) * 512, seconds);
    node::Segment& mapped = node::segment();
    if (mapped.map(descriptor) != 0) std::abort();
    for (const char* const name : {"look, the first", "look"}) {
      const Growth look;
      wait::Spreading spreading;
      for (int yield = 0; yield < 64; ++yield) spreading.yielded(0, static_cast<int>(ranks));
      tell(name, ranks, look.bytes(), look.seconds());
    }
    mapped.unmap();
    close(descriptor);
  }

 private:
  // Of each process another one.
  std::string of(long rank) const {
    std::string address = own_;
    const std::string number = std::to_string(rank);
    return address.replace(0, number.size(), number);
  }
  void tell(const char* name, long ranks, double bytes, double seconds) {
    const bench::Keys keys{{"ranks", ranks}};
    report_.row(name, keys, "B a rank",
                bench::distribution_of({bytes / static_cast<double>(ranks)}));
    report_.row(std::string(name) + ", time", keys, "ns a rank",
                bench::distribution_of({seconds * 1e9 / static_cast<double>(ranks)}));
  }

  bench::Report& report_;
  const long ranks_a_node_;
  // As in a rank, it is not given back.
  net::Network* const network_ = new net::Network;
  std::string own_;
};

int run(bench::Options& options) {
  const auto ranks = options.sizes("ranks", "8192,65536,1280000");
  const auto of_segments = options.sizes("segment-ranks", "8192,32768");
  const auto ranks_a_node = options.sizes("ranks-a-node", "128");
  bench::Report report(true, options.flag("json"));
  options.finish();
  report.header("parts", {});
  Parts parts(report, ranks_a_node.front());
  for (const long count : of_segments) parts.segment(count);
  for (const long count : ranks) {
    parts.peers(count);
    parts.nodes(count);
  }
  if (!parts.address()) return 0;
  for (const long count : ranks) {
    parts.cards(count);
    parts.poll_all(std::min(count, 16384L));
    parts.addresses(count);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Options options(argc, argv);
  if (options.flag("help")) {
    std::printf("%s", usage);
    return 0;
  }
  try {
    return run(options);
  } catch (const bench::UsageError& error) {
    return bench::refuse(argv[0], error);
  }
}
