#include "core/start/task.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error/abort.h"
#include "core/start/joining.h"
#include "core/start/settings.h"
#include "net/network.h"
#include "protocol/control.h"
#include "protocol/task.h"
#include "protocol/wire_up.h"
#include "settings/settings.h"

namespace meantime::core {
namespace {

using launch::TaskHello;

constexpr char job_of_launcher[] = "PMIX_NAMESPACE";

std::string in_hexadecimal(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return text;
}

std::string from_hexadecimal(std::string_view text) {
  std::string bytes;
  for (std::size_t place = 0; place + 2 <= text.size(); place += 2) {
    unsigned byte = 0;
    std::from_chars(text.data() + place, text.data() + place + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

/// The lines about all ranks. False: they are not complete.
bool hear_addresses(launch::WireUp& wire_up, net::Network& network) {
  std::vector<int> nodes;
  std::vector<std::string> addresses;
  for (std::string line; !(line = wire_up.hear_line()).empty();) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string::npos) {
      return false;
    }
    const std::string address = line.substr(blank + 1);
    nodes.push_back(std::atoi(line.c_str()));
    addresses.push_back(address == launch::here ? std::string() : from_hexadecimal(address));
  }
  network.set_peers(std::move(nodes), std::move(addresses));
  return true;
}

/// Where the supervisor is, and who this task is.
struct Place {
  std::string job;   ///< of the launcher's
  std::string name;  ///< of an abstract socket
  TaskHello hello;
  int app_number = 0;
};

Place place_of_supervisor() {
  const std::string program = prefix() + "/libexec/meantime/meantime-wire-up";
  std::string problem;
  std::string line;
  std::unique_ptr<net::Network> network;
  {
    launch::WireUp wire_up;
    problem = wire_up.start(program);
    line = problem.empty() ? wire_up.hear_line() : std::string();
    if (line == launch::asks_for_address) {
      network = std::make_unique<net::Network>();
      const std::string no_network = network->open();
      wire_up.say(no_network.empty() ? in_hexadecimal(network->address())
                                     : launch::not_wired_up + no_network);
      line = wire_up.hear_line();
    }
    if (network != nullptr && line.starts_with(launch::wired_up) &&
        !hear_addresses(wire_up, *network)) {
      line.clear();
    }
  }
  net::detail::host_network = network.release();  // for as long as the process lives
  Place place;
  char name[64] = {};
  unsigned long long secret[2] = {};
  if (line.starts_with(launch::wired_up) &&
      std::sscanf(line.c_str() + std::strlen(launch::wired_up), "%63[^:]:%llx:%llx %d %d", name,
                  &secret[0], &secret[1], &place.hello.rank, &place.app_number) == 5) {
    place.name = name;
    const char* const job = std::getenv(job_of_launcher);
    place.job = job != nullptr ? job : "";
    place.hello.secret[0] = secret[0];
    place.hello.secret[1] = secret[1];
    return place;
  }
  if (line.starts_with(launch::not_wired_up)) {
    problem = line.substr(std::strlen(launch::not_wired_up));
    if (problem.empty()) {
      abort_job(1, "");  // the first task says what
    }
  } else {
    problem = fmt::format("{}: {}", program, problem.empty() ? "it has failed" : problem);
  }
  abort_job(1, fmt::format("cannot join the job of the launcher that started this program: {}; "
                           "Meantime's own mpiexec needs no other launcher",
                           problem));
}

int connection_to(const Place& place) {
  const int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, place.name.data(), place.name.size());
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + place.name.size());
  if (descriptor < 0 ||
      connect(descriptor, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      send(descriptor, &place.hello, sizeof place.hello, MSG_NOSIGNAL) !=
          static_cast<ssize_t>(sizeof place.hello)) {
    abort_job(1, fmt::format("the supervisor of this node's tasks does not answer: {}",
                             std::strerror(errno)));
  }
  return descriptor;
}

void set(const std::string& name, const std::string& value) {
  // What this task was told of a setting is its own affair.
  setenv(name.c_str(), value.c_str(), settings::find(name) == nullptr ? 1 : 0);
}

}  // namespace

bool is_task() {
  return std::getenv(job_of_launcher) != nullptr && std::getenv("PMIX_RANK") != nullptr &&
         !is_child_of_task() && !wants_to_be_alone();
}

bool is_child_of_task() {
  const char* const job = std::getenv(job_of_launcher);
  const char* const joined = std::getenv(launch::task_variable);
  return job != nullptr && joined != nullptr && std::string_view(job) == joined;
}

void become_rank() {
  const Place place = place_of_supervisor();
  const int connection = connection_to(place);
  std::vector<char> packet(launch::welcome_limit);
  int descriptors[2] = {-1, -1};
  iovec part{packet.data(), packet.size()};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof descriptors)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  ssize_t bytes = 0;
  do {
    bytes = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  } while (bytes < 0 && errno == EINTR);
  const cmsghdr* const item = CMSG_FIRSTHDR(&message);
  if (bytes <= 0 || item == nullptr || item->cmsg_type != SCM_RIGHTS ||
      item->cmsg_len != CMSG_LEN(sizeof descriptors)) {
    abort_job(1, bytes > 0 ? "no file descriptors are left for the job's (ulimit -n)"
                           : "");  // the supervisor has said why
  }
  std::memcpy(descriptors, CMSG_DATA(item), sizeof descriptors);
  const char* const end = packet.data() + bytes;
  for (const char* variable = packet.data(); variable < end;) {
    const std::string text = variable;
    const std::size_t equals = text.find('=');
    set(text.substr(0, equals), text.substr(equals + 1));
    variable += text.size() + 1;
  }
  set(launch::program_variable, fmt::to_string(place.app_number));
  set(launch::segment_variable, fmt::to_string(descriptors[0]));
  set(launch::lifeline_variable, fmt::to_string(descriptors[1]));
  set(launch::control_variable, fmt::to_string(connection));
  set(launch::rank_pid_variable, fmt::to_string(getpid()));
  set(launch::task_variable, place.job);
  unsetenv(launch::board_variable);  // of a job that this one is in
}

}  // namespace meantime::core
