// meantime: what this installation is, whether this machine suits it, whether a program does.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.h"
#include "launch/start/installation.h"
#include "played_network.h"
#include "settings/misspelt.h"
#include "settings/shown.h"
#include "settings/terminal.h"
#include "subcommands.h"

namespace {

constexpr std::size_t help_column = 20;

/// The command that is nearest to a misspelt one; empty if none is near.
std::string nearest_subcommand(const CLI::App& app, const std::string& word) {
  std::string nearest;
  std::size_t fewest = word.size() <= 3 ? 2 : 3;  // two or three slips are a typing error
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    const std::size_t slips = meantime::settings::slips(word, command->get_name());
    if (slips < fewest) {
      nearest = command->get_name();
      fewest = slips;
    }
  }
  return nearest;
}

/// What is wrong with a command's words, in our words and one line: the parser's do not say whose
/// they are.
std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
  const auto commands = app.get_subcommands();
  const std::string command =
      commands.empty() ? "meantime" : "meantime " + commands.front()->get_name();
  std::string text = error.what();
  const auto rest = [&text] { return text.substr(std::min(text.size(), text.find(": ") + 2)); };
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError)) {
    text =
        commands.empty() ? "a command is missing" : text.substr(0, text.find(' ')) + " is missing";
  } else if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    text = fmt::format("takes no '{}'", rest());
  } else if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ConversionError)) {
    text = rest() + ": that is no number";
  }
  return command == "meantime stack" && text == "job is missing"
             ? "meantime stack: which job? Give its number: `meantime ps` lists jobs"
             : fmt::format("{}: {}; `{} --help` shows how", command, text, command);
}

/// Of `meantime steal` and `cluster` the command that they run, which is taken off: behind `--`, or
/// from the first word on that is no option, of a cluster the second.
std::vector<std::string> command_behind_options(int& count, char** words) {
  const std::string_view subcommand = count < 2 ? "" : words[1];
  if (subcommand != "steal" && subcommand != "cluster") {
    return {};
  }
  static constexpr std::string_view with_value[] = {"--guest",        "--steal",     "--mode",
                                                    "--max-overhead", "--bandwidth", "--delay"};
  int own_words = subcommand == "cluster" ? 1 : 0;
  int first = 2;
  while (first < count && std::string_view(words[first]) != "--") {
    const bool is_option = words[first][0] == '-' && std::isdigit(words[first][1]) == 0;
    if (!is_option && own_words-- == 0) {
      break;
    }
    const bool has_value = std::find(std::begin(with_value), std::end(with_value), words[first]) !=
                           std::end(with_value);
    first += has_value ? 2 : 1;
  }
  const int end = std::min(first, count);
  const bool marked = end < count && std::string_view(words[end]) == "--";
  std::vector<std::string> command(words + end + (marked ? 1 : 0), words + count);
  count = end;
  return command;
}

}  // namespace

int main(int count, char** words) {
  CLI::App app{"Meantime, an MPI that knows what a rank should do while it waits", "meantime"};
  app.get_formatter()->column_width(help_column);
  app.require_subcommand(1);
  app.set_version_flag("-V,--version", fmt::format("Meantime {}", meantime::version));
  int status = 0;
  const std::vector<std::string> behind_options = command_behind_options(count, words);

  app.add_subcommand("version", "Show the version and where it is installed")->callback([] {
    fmt::print("Meantime {} ({}, {})\ninstalled in {}\n", meantime::version, meantime::build_type,
               meantime::compiler, meantime::launch::prefix());
  });
  app.add_subcommand("doctor", "Try what Meantime needs on this machine")->callback([&status] {
    status = meantime::tools::doctor();
  });
  std::string setting;
  CLI::App* config =
      app.add_subcommand("config", "List all settings: what holds here, and who said so");
  config->add_option("name", setting, "Only this one: MEANTIME_WAIT, or wait");
  config->callback([&] { status = meantime::tools::config(setting); });
  std::string program;
  CLI::App* missing =
      app.add_subcommand("missing", "Name a program's MPI calls that are not there yet");
  missing->add_option("program", program, "The program, by path or as found in PATH")->required();
  missing->callback([&] { status = meantime::tools::missing(program); });
  CLI::App* check =
      app.add_subcommand("check", "Say whether programs' ranks can be threads (--as threads)");
  std::vector<std::string> programs;
  check->add_option("program", programs, "The programs, by path or as found in PATH")->required();
  check->callback([&] {
    for (const std::string& each : programs) {
      status = std::max(status, meantime::tools::check(each));
    }
  });

  // Its options are the script's, --help too.
  CLI::App* fortran =
      app.add_subcommand("fortran", "Build the Fortran modules: --fc=COMPILER (--help says more)");
  fortran->set_help_flag();
  fortran->prefix_command();
  fortran->callback([&] { status = meantime::tools::fortran(fortran->remaining()); });

  std::optional<int> only_job;
  CLI::App* ps = app.add_subcommand("ps", "List running jobs: what every rank does or waits for");
  ps->add_option("job", only_job, "Only this one, by the pid of its mpiexec");
  bool each = false;
  ps->add_flag("--each", each, "A line for each rank, with its pid");
  ps->callback([&] { status = meantime::tools::ps(only_job, each); });
  int job = 0;
  int rank = -1;
  CLI::App* stack = app.add_subcommand("stack", "Show where the ranks of a running job are");
  stack->add_option("job", job, "The pid of its mpiexec, as `meantime ps` tells")->required();
  stack->add_option("--rank", rank, "Only this rank")->check([](const std::string& word) {
    return word.find_first_not_of("0123456789") == std::string::npos
               ? ""
               : fmt::format("'{}' is no rank", word);
  });
  bool all_frames = false;
  stack->add_flag("--all-frames", all_frames, "With Meantime's own, further in than the MPI call");
  stack->callback([&] { status = meantime::tools::stack(job, rank, all_frames); });

  CLI::App* steal =
      app.add_subcommand("steal", "Guest work beside ranks of any MPI: -- mpirun -n 4 ./program");
  meantime::tools::StealOptions stealing;
  std::string waits = "collectives";
  stealing.mode = "predicted";
  steal->add_option("--guest", stealing.guest,
                    "As mpiexec --guest takes it: aes, proc:COMMAND, ...");
  steal->add_option("--steal", waits, "In which waits: collectives (default), or all")
      ->check(CLI::IsMember({"collectives", "all"}));
  steal
      ->add_option("--mode", stealing.mode,
                   "How a wait sleeps first: predicted (default), ade, or naps")
      ->check(CLI::IsMember({"predicted", "ade", "naps"}));
  steal->add_option("--max-overhead", stealing.overhead,
                    "What guests may cost, in % of the run time");
  steal->add_flag("--print", stealing.print,
                  "Only print the variables, for a shell: eval \"$(meantime steal ... --print)\"");
  steal->add_flag("-v", stealing.verbose, "Say what is done");
  stealing.command = behind_options;
  steal->callback([&] {
    stealing.all = waits == "all";
    status = meantime::tools::steal(stealing);
  });

  CLI::App* cluster =
      app.add_subcommand("cluster", "Play a cluster: 4 -- mpiexec -n 16 ./program, on 4 nodes");
  meantime::tools::ClusterOptions playing;
  cluster
      ->add_option("nodes", playing.nodes,
                   fmt::format("How many, 1 to {}", meantime::tools::most_nodes))
      ->required();
  cluster->add_option("--bandwidth", playing.bandwidth,
                      "Of each node, both ways: 100mbit, 1gbit, ...");
  cluster->add_option("--delay", playing.delay, "Of what a node sends: 50us, 1ms, ..., up to 10s");
  cluster->add_flag("--loopback", playing.loopback,
                    "Without network namespaces, as where they are not allowed");
  playing.command = behind_options;
  cluster->callback([&] { status = meantime::tools::cluster(playing); });

  CLI::App* bench =
      app.add_subcommand("bench", "Measure this machine; without a name: lists the benchmarks");
  bench->prefix_command()->set_help_flag();
  bench->callback([&] { status = meantime::tools::bench(bench->remaining()); });

  if (count > 1 && words[1][0] != '-' && nearest_subcommand(app, words[1]) != words[1]) {
    const std::string near = nearest_subcommand(app, words[1]);
    fmt::print(stderr, "meantime: there is no command '{}'{}\n",
               meantime::settings::shown(words[1]),
               near.empty() ? "; --help lists them" : fmt::format("; did you mean '{}'?", near));
    return 2;
  }
  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      std::ostringstream text;
      const int code = app.exit(error, text, text);  // --help and --version
      std::fputs(meantime::settings::help_laid_out(text.str(), help_column,
                                                   meantime::settings::page_of(STDOUT_FILENO))
                     .c_str(),
                 stdout);
      return code;
    }
    fmt::print(stderr, "{}\n",
               meantime::settings::shown(complaint(app, error), meantime::settings::any_length));
    return 2;
  }
  return status;
}
