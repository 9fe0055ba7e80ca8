#include "played_network.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "launch/messages.h"
#include "launch/start/program.h"
#include "packet_port.h"
#include "relay.h"

namespace meantime::tools {
namespace {

/// A segment as the kernel's TCP hands it to a device at once, with its header.
constexpr double longest_segment = 70'000;
/// Of what waits for a device: as a switch has it, and more than one sender's window at first.
constexpr double least_queue = 4 << 20;
/// And more than TCP may have under way where it takes long.
constexpr double longest_delay_ns = 10e9;
constexpr std::uint64_t carrier_patience_ns = 10'000'000'000;

std::string failed(const char* what) {
  return fmt::format("{}: {}", what, std::strerror(errno));
}

/// A number and one of the units, or nothing.
std::optional<double> number_with_unit(
    const std::string& text, std::initializer_list<std::pair<std::string_view, double>> units) {
  const std::size_t digits = text.find_first_not_of("0123456789.");
  if (digits == 0 || digits == std::string::npos) {
    return std::nullopt;
  }
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  for (const auto& [unit, factor] : units) {
    if (end == text.c_str() + digits && unit == std::string_view(end) && number > 0) {
      return number * factor;
    }
  }
  return std::nullopt;
}

bool write_to(const char* path, const std::string& text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  const bool written =
      file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  if (file >= 0) {
    close(file);
  }
  errno = error;
  return written;
}

/// The same user there as here, with what nodes take: of network namespaces. Those who are executed
/// get it, too.
std::string enter_user_namespace() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWUSER) != 0 || !write_to("/proc/self/setgroups", "deny") ||
      !write_to("/proc/self/uid_map", fmt::format("{0} {0} 1", user)) ||
      !write_to("/proc/self/gid_map", fmt::format("{0} {0} 1", group))) {
    return failed("a user namespace");
  }
  // No others, or mpiexec, which has these, might not look at our descriptors.
  constexpr int needed[] = {CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_NET_RAW};
  unsigned capabilities = 0;
  for (const int each : needed) {
    capabilities |= 1U << each;
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {{capabilities, capabilities, capabilities}, {}};
  const auto keep = [](int each) {
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, each, 0, 0) == 0;
  };
  if (syscall(SYS_capset, &header, data) != 0 ||
      !std::all_of(std::begin(needed), std::end(needed), keep)) {
    return failed("a user namespace's rights");
  }
  return {};
}

/// ip or tc.
class Tool {
 public:
  /// Empty, or why there is none.
  std::string find(const char* name) {
    // Where administrators have it, whom an ordinary user's PATH need not know.
    const char* const path = std::getenv("PATH");
    path_ = launch::resolve_program(
                name, "", (path == nullptr ? "" : path + std::string(":")) + "/usr/sbin:/sbin")
                .path;
    name_ = name;
    return path_.empty() ? fmt::format("there is no {} (Debian: apt install iproute2)", name)
                         : std::string();
  }

  /// In the calling thread's namespace. Empty, or what is wrong.
  [[nodiscard]] std::string run(const std::string& lines) const {
    const int input = memfd_create("meantime-lines", MFD_CLOEXEC);
    const int said = memfd_create("meantime-said", MFD_CLOEXEC);
    std::string problem =
        input >= 0 && said >= 0 && launch::write_all(input, lines) && lseek(input, 0, SEEK_SET) == 0
            ? execute(input, said)
            : failed("memory");
    close(input);
    close(said);
    return problem;
  }

 private:
  [[nodiscard]] std::string execute(int input, int said) const {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, said, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, said, STDERR_FILENO);
    const char* const words[] = {name_, "-batch", "-", nullptr};
    pid_t pid = -1;
    errno =
        posix_spawn(&pid, path_.c_str(), &files, nullptr, const_cast<char* const*>(words), environ);
    posix_spawn_file_actions_destroy(&files);
    int wait_status = 0;
    if (errno != 0 || waitpid(pid, &wait_status, 0) != pid) {
      return failed(name_);
    }
    if (wait_status == 0) {
      return {};
    }
    if (WIFSIGNALED(wait_status)) {
      return fmt::format("{} was killed by signal {}", name_, WTERMSIG(wait_status));
    }
    char text[400];
    const ssize_t bytes = pread(said, text, sizeof text, 0);
    const std::string line(text, static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    return fmt::format("{}: {}", name_, line.substr(0, line.find('\n')));
  }

  const char* name_ = nullptr;
  std::string path_;
};

double burst_of(const Rate& rate) {
  return std::max(longest_segment, rate.bytes_per_second / 1000);
}

double queue_of(const Rate& rate) {
  return std::max(least_queue, 4 * burst_of(rate));
}

std::string address(int node) {
  return fmt::format("10.0.0.{}", node + 1);
}

std::string hardware_address(int node) {
  return fmt::format("02:00:00:00:00:{:02x}", node + 1);
}

/// Runs in a thread of its own, which goes from one namespace to the other: the process stays in
/// the machine's. After the first problem nothing is done any more.
class Builder {
 public:
  Builder(int nodes, const std::optional<Rate>& rate, bool relayed)
      : nodes_(nodes), rate_(rate), relayed_(relayed) {}

  /// `center`: the namespace in which all come together. `ports` of the devices there, for a relay.
  std::string build(int& center, std::vector<int>& nodes, std::vector<PacketPort>& ports) {
    problem_ = ip_.find("ip");
    if (problem_.empty() && rate_) {
      problem_ = tc_.find("tc");
    }
    for (int node = 0; node < nodes_; ++node) {
      nodes.push_back(make_namespace());
    }
    center = make_namespace();
    build_center(nodes);
    for (int node = 0; node < nodes_; ++node) {
      enter(nodes[static_cast<std::size_t>(node)]);
      build_node(node);
    }
    for (const int node : nodes) {
      enter(node);
      await_carrier("eth0");
    }
    enter(center);
    for (int node = 0; node < nodes_; ++node) {
      await_carrier(fmt::format("node{}", node));
    }
    for (int node = 0; relayed_ && node < nodes_ && problem_.empty(); ++node) {
      problem_ = ports.emplace_back().open(fmt::format("node{}", node), nodes_);
    }
    return problem_;
  }

 private:
  /// The thread is in it then.
  int make_namespace() {
    if (problem_.empty() && unshare(CLONE_NEWNET) == 0) {
      const int made = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
      if (made >= 0) {
        return made;
      }
    }
    problem_ = problem_.empty() ? failed("a network namespace") : problem_;
    return -1;
  }

  void enter(int name_space) {
    if (problem_.empty() && setns(name_space, CLONE_NEWNET) != 0) {
      problem_ = failed("setns");
    }
  }

  void run(const Tool& tool, const std::string& lines) {
    problem_ = problem_.empty() ? tool.run(lines) : problem_;
  }

  // No IPv6 of the devices' own, which would be heard in the network. Where a relay joins the
  // nodes, too, there is a bridge, which passes nothing on then: devices of a bridge have a carrier
  // at once, and others up to a second later.
  void build_center(const std::vector<int>& nodes) {
    std::string lines =
        "link add name bridge type bridge forward_delay 0\n"
        "link set bridge up\n";
    std::string limits;
    for (int node = 0; node < nodes_; ++node) {
      lines += fmt::format(
          "link add name node{0} type veth peer name eth0 address {1} netns /proc/{2}/fd/{3}\n"
          "link set node{0} addrgenmode none master bridge up\n",
          node, hardware_address(node), getpid(), nodes[static_cast<std::size_t>(node)]);
      lines += relayed_ ? fmt::format("link set node{} type bridge_slave isolated on\n", node) : "";
      limits += limit(fmt::format("node{}", node));
    }
    run(ip_, lines);
    if (rate_ && !relayed_) {
      shape(limits);
    }
  }

  // After the bridge's ends are up: then the kernel tells the bridge at once that there is a
  // carrier, and else up to a second later. Neighbours that are asked for would have to share a
  // table of 1024 with the whole machine (net.ipv4.neigh.default.gc_thresh3).
  void build_node(int own) {
    std::string lines = fmt::format(
        "link set lo up\n"
        "link set eth0 addrgenmode none\n"
        "addr add {}/24 broadcast + dev eth0\n"
        "link set eth0 up\n",
        address(own));
    for (int node = 0; node < nodes_; ++node) {
      if (node != own) {
        lines += fmt::format("neigh add {} lladdr {} nud permanent dev eth0\n", address(node),
                             hardware_address(node));
      }
    }
    run(ip_, lines);
    if (rate_) {
      shape(limit("eth0"));
    }
  }

  /// The kernel tells others of it a little later, and UCX takes no device without.
  void await_carrier(const std::string& device) {
    const int socket = problem_.empty() ? ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (problem_.empty() && socket < 0) {
      problem_ = failed("a socket");
    }
    ifreq request{};
    device.copy(request.ifr_name, sizeof request.ifr_name - 1);
    for (const std::uint64_t end = now_ns() + carrier_patience_ns; problem_.empty();) {
      if (ioctl(socket, SIOCGIFFLAGS, &request) != 0) {
        problem_ = failed(device.c_str());
      } else if ((request.ifr_flags & IFF_RUNNING) != 0) {
        break;
      } else if (now_ns() > end) {
        problem_ = fmt::format("{} has no carrier", device);
      }
      usleep(500);
    }
    if (socket >= 0) {
      close(socket);
    }
  }

  void shape(const std::string& lines) {
    run(tc_, lines);
    if (problem_.find("kind is unknown") != std::string::npos) {
      problem_ = "this kernel has no tbf (module sch_tbf), which --bandwidth takes";
    }
  }

  [[nodiscard]] std::string limit(const std::string& device) const {
    return rate_ ? fmt::format("qdisc add dev {} root tbf rate {} burst {:.0f} limit {:.0f}\n",
                               device, rate_->text, burst_of(*rate_), queue_of(*rate_))
                 : "";
  }

  const int nodes_;
  const std::optional<Rate>& rate_;
  const bool relayed_;
  std::string problem_;
  Tool ip_;
  Tool tc_;
};

/// Whether this process may make network namespaces as it is.
bool may_make_namespaces() {
  const pid_t child = fork();
  if (child == 0) {
    _exit(unshare(CLONE_NEWNET) == 0 ? 0 : 1);
  }
  int wait_status = 1;
  return child > 0 && waitpid(child, &wait_status, 0) == child && wait_status == 0;
}

}  // namespace

std::optional<Rate> rate_of(const std::string& text) {
  const std::optional<double> bits =
      number_with_unit(text, {{"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}});
  return bits ? std::optional(Rate{text, *bits / 8}) : std::nullopt;
}

std::optional<std::uint64_t> delay_of(const std::string& text) {
  const std::optional<double> ns = number_with_unit(text, {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}});
  return ns && *ns <= longest_delay_ns ? std::optional(static_cast<std::uint64_t>(*ns))
                                       : std::nullopt;
}

std::string PlayedNetwork::make(int nodes, const std::optional<Rate>& rate,
                                const std::optional<std::uint64_t>& delay_ns) {
  if (!may_make_namespaces()) {
    if (std::string problem = enter_user_namespace(); !problem.empty()) {
      return problem;
    }
  }
  std::string problem;
  std::vector<PacketPort> ports;
  std::thread([&] {
    problem = Builder(nodes, rate, delay_ns.has_value()).build(center_, nodes_, ports);
  }).join();
  if (problem.empty() && delay_ns) {
    std::optional<Line::Limit> limit;
    if (rate) {
      limit = {rate->bytes_per_second / 1e9, burst_of(*rate), queue_of(*rate)};
    }
    std::thread([relay = Relay(std::move(ports), *delay_ns, limit)]() mutable {
      relay.run();
    }).detach();
  }
  return problem;
}

std::string PlayedNetwork::held() const {
  return fmt::format("{}:{}", getpid(), fmt::join(nodes_, ","));
}

}  // namespace meantime::tools
