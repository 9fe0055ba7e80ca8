// meantime cluster: several nodes on this machine, for a command whose mpiexec plays them.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "kept_command.h"
#include "launch/start/installation.h"
#include "launch/start/program.h"
#include "played_network.h"
#include "settings/shown.h"
#include "subcommands.h"

namespace meantime::tools {
namespace {

constexpr char name[] = "meantime cluster";
constexpr char nodes_variable[] = "MEANTIME_TEST_NODES";
constexpr char namespaces_variable[] = "MEANTIME_TEST_NAMESPACES";
/// Of UCX: what it says is of the machine's own devices.
constexpr char devices_variable[] = "UCX_NET_DEVICES";

int refuse(const std::string& line, int status) {
  fmt::print(stderr, "{}: {}\n", name, settings::shown_lines(line));
  return status;
}

/// So that the command's `mpiexec` is ours.
void put_own_commands_first() {
  const char* const path = std::getenv("PATH");
  const std::string folder = launch::prefix() + "/bin";
  setenv("PATH", (path == nullptr ? folder : folder + ":" + path).c_str(), 1);
}

/// What is wrong with the command line; empty if nothing is.
std::string wrong(const ClusterOptions& options, const std::optional<Rate>& rate,
                  const std::optional<std::uint64_t>& delay_ns) {
  const std::string& nodes = options.nodes;
  const bool is_number = !nodes.empty() && nodes.size() < 9 &&
                         nodes.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || std::stoi(nodes) < 1 || std::stoi(nodes) > most_nodes) {
    return fmt::format("'{}' nodes: a number from 1 to {} is needed", settings::shown(nodes),
                       most_nodes);
  }
  if (!options.bandwidth.empty() && !rate) {
    return fmt::format("--bandwidth: '{}' is no rate; 100mbit is, or 1gbit",
                       settings::shown(options.bandwidth));
  }
  if (!options.delay.empty() && !delay_ns) {
    return fmt::format("--delay: '{}' is no time up to 10s; 50us is, or 1ms",
                       settings::shown(options.delay));
  }
  if (options.loopback && (rate || delay_ns)) {
    return "--bandwidth and --delay are of devices, which nodes on the loopback do not have";
  }
  return options.command.empty() ? "which command? meantime cluster 4 -- mpiexec -n 16 ./program"
                                 : "";
}

}  // namespace

int cluster(const ClusterOptions& options) {
  const std::optional<Rate> rate = rate_of(options.bandwidth);
  const std::optional<std::uint64_t> delay_ns = delay_of(options.delay);
  if (const std::string line = wrong(options, rate, delay_ns); !line.empty()) {
    return refuse(line, 2);
  }
  put_own_commands_first();
  const launch::ResolvedProgram program = launch::find_program(options.command.front());
  if (program.path.empty()) {
    return refuse(program.error, program.status);
  }
  setenv(nodes_variable, options.nodes.c_str(), 1);
  unsetenv(namespaces_variable);  // of a cluster that this one is inside of
  KeptCommand command{name, program.path, options.command, {}};
  int status = 0;
  if (!options.loopback) {
    PlayedNetwork network;
    command.keep = [&] {
      std::string problem = network.make(std::stoi(options.nodes), rate, delay_ns);
      if (problem.empty()) {
        setenv(namespaces_variable, network.held().c_str(), 1);
        unsetenv(devices_variable);
      }
      return problem;
    };
    const std::string problem = run_kept(command, status);
    if (problem.empty()) {
      return status;
    }
    if (rate || delay_ns) {
      return refuse(problem, 1);
    }
    refuse(fmt::format("the nodes are played over the loopback: {}", problem), 0);
  }
  command.keep = [] { return std::string(); };
  const std::string problem = run_kept(command, status);
  return problem.empty() ? status : refuse(problem, 1);
}

}  // namespace meantime::tools
