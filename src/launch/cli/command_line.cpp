#include "launch/cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "base/version.h"
#include "launch/cli/binding_words.h"
#include "launch/cli/host_list.h"
#include "launch/cli/option_values.h"
#include "launch/cli/options.h"
#include "launch/cli/typed_option.h"
#include "launch/messages.h"
#include "node/layout.h"
#include "protocol/control.h"
#include "settings/settings.h"
#include "settings/shown.h"

namespace meantime::launch {

namespace {

using settings::shown;

constexpr int usage_status = 2;

/// Reads words from left to right; each program ends at `:` or at the end.
class Parser {
 public:
  Parser(const std::vector<std::string>& words, const std::vector<NodeRequest>& nodes)
      : words_(words), known_nodes_(nodes) {}

  CommandLine parse() {
    while (position_ < words_.size()) {
      parse_program();
    }
    // MPICH's name for the same; what the command line says counts more.
    const char* limit = std::getenv("MPIEXEC_TIMEOUT");
    if (limit != nullptr && *limit != '\0' && !timeout_given_ && output.empty()) {
      result_.timeout_seconds = parse_seconds("MPIEXEC_TIMEOUT", limit);
    }
    if (result_.programs.empty()) {
      throw Mistake{"no program to start (mpiexec --help shows how)"};
    }
    if (result_.ranks() > node::most_ranks) {
      throw Mistake{
          fmt::format("a job has at most {} ranks, not {}", node::most_ranks, result_.ranks())};
    }
    if (result_.stdin_rank >= result_.ranks()) {
      throw Mistake{fmt::format("--stdin {}: the job has ranks 0 to {} only", result_.stdin_rank,
                                result_.ranks() - 1)};
    }
    const auto may_be = [this](RankKind kind) {
      return std::any_of(result_.programs.begin(), result_.programs.end(),
                         [kind](const ProgramRequest& program) {
                           return program.kind == kind || program.kind == RankKind::automatic;
                         });
    };
    settle_binding(result_);
    if (std::string wrong =
            in_vain(result_, may_be(RankKind::processes), may_be(RankKind::threads));
        !wrong.empty()) {
      throw Mistake{wrong};
    }
    return std::move(result_);
  }

  std::string output;  // of --help and --version; then the rest does not matter

 private:
  void parse_program() {
    program_ = {};
    ranks_ = ranks_per_node_ = 0;
    hosts_.clear();
    not_counted_.clear();
    while (position_ < words_.size() && is_option(words_[position_])) {
      parse_option();
      if (!output.empty()) {
        position_ = words_.size();
        program_.arguments = {""};
      }
    }
    if (refused_ != nullptr && output.empty()) {
      const bool for_threads = kind_ == RankKind::threads && !refused_->note_for_threads.empty();
      throw Mistake{fmt::format("{} is not supported: {}", refused_as_,
                                for_threads ? refused_->note_for_threads : refused_->note)};
    }
    while (position_ < words_.size() && words_[position_] != ":") {
      program_.arguments.push_back(words_[position_++]);
    }
    if (program_.arguments.empty()) {
      throw Mistake{position_ < words_.size() || !result_.programs.empty()
                        ? "no program before or after ':'"
                        : "no program to start (mpiexec --help shows how)"};
    }
    if (ranks_ == 0 && ranks_per_node_ == 0 && !not_counted_.empty()) {
      throw Mistake{fmt::format(
          "{}: ranks are counted for a node, socket, numa, core or hwthread only; use -n NUMBER",
          not_counted_)};
    }
    settle_hosts();
    const int nodes = std::max(1, static_cast<int>(hosts_.size()));
    for (const int ranks : {slots_of(hosts_), ranks_per_node_ * nodes, ranks_}) {
      program_.ranks = ranks > 0 ? ranks : program_.ranks;
    }
    result_.counted = result_.counted || ranks_ > 0 || ranks_per_node_ > 0 || !hosts_.empty();
    result_.ranks_of_tasks = result_.programs.empty() && result_.ranks_per_process > 0 &&
                             hosts_.empty() && ranks_per_node_ == 0 && ranks_ == 0;
    program_.wait = wait_;
    program_.kind = kind_;
    result_.programs.push_back(program_);
    if (position_ < words_.size() && ++position_ == words_.size()) {
      throw Mistake{"no program before or after ':'"};
    }
  }

  /// Those of this program become the job's, if it is to run on others than this machine.
  void settle_hosts() {
    if (hosts_.empty()) {
      return;
    }
    result_.hosts_given = true;
    if (known_nodes_.empty() && std::all_of(hosts_.begin(), hosts_.end(), [](const auto& host) {
          return is_this_machine(host.name);
        })) {
      result_.notes.push_back("the hosts are this machine only");
      hosts_ = {{"localhost", slots_of(hosts_)}};
      return;
    }
    if (ranks_per_node_ > 0) {
      for (NodeRequest& host : hosts_) {
        host.slots = ranks_per_node_;
      }
    }
    if (!result_.nodes.empty() && result_.nodes != hosts_) {
      throw Mistake{"the hosts are the whole job's: programs cannot name different ones"};
    }
    result_.nodes = hosts_;
  }

  bool is_option(const std::string& word) {
    if (word == "--") {
      ++position_;
      return false;
    }
    return word.size() > 1 && word[0] == '-';
  }

  void parse_option() {
    const TypedOption typed = read_option(words_, position_);
    spelled_ = typed.spelled;
    apply(*typed.option, typed.arguments);
  }

  /// Said of one program, and yet for the whole job: not twice in different ways.
  void require_one_for_all(const Option& option, const std::string& value) {
    switch (option.action) {
      case Action::timeout:
      case Action::bind:
      case Action::guest:
      case Action::max_overhead:
      case Action::on_deadlock:
      case Action::place:
      case Action::balance:
      case Action::ranks_per_process:
      case Action::standard_input:
        require_same(option.action, option.arguments == 0 && option.action == Action::bind
                                        ? std::string(option.note)
                                        : value);
        break;
      default:
        break;
    }
  }

  void require_same(Action action, const std::string& said) {
    const auto [place, is_new] = of_the_job_.try_emplace(action, said);
    if (!is_new && place->second != said && !result_.programs.empty()) {
      throw Mistake{fmt::format("{} is for the whole job: '{}' and '{}' cannot both hold", spelled_,
                                shown(place->second), shown(said))};
    }
    place->second = said;
  }

  /// By one of three options.
  void set_places(int places) {
    require_same(Action::cpus_per_rank, fmt::to_string(places));
    result_.places_per_rank = places;
    result_.places_option = spelled_;
  }

  /// "2:socket", and what was typed to say so
  void set_ranks_of_resource(const std::string& word, const std::string& typed) {
    ranks_per_node_ = ranks_of_resource(spelled_, word);
    not_counted_ = ranks_per_node_ == 0 ? fmt::format("{} {}", spelled_, shown(typed)) : "";
  }

  void apply(const Option& option, const std::vector<std::string>& arguments) {
    const std::string& first = arguments[0];
    require_one_for_all(option, first);
    switch (option.action) {
      case Action::ranks:
        ranks_ = parse_ranks(spelled_, first);
        break;
      case Action::ranks_per_node:
        ranks_per_node_ =
            parse_ranks(spelled_, option.arguments == 0 ? std::string(option.note) : first);
        break;
      case Action::ranks_per_socket:
        set_ranks_of_resource(first + ":socket", first);
        break;
      case Action::ranks_per_resource:
        set_ranks_of_resource(first, first);
        break;
      case Action::export_variable:
        if (first.find('=') != std::string::npos) {
          result_.environment.push_back(split_assignment(spelled_, first));
        } else if (const char* value = std::getenv(first.c_str())) {
          result_.environment.push_back({first, value});
        } else {
          result_.notes.push_back(
              fmt::format("{} {}: not set, so nothing to pass on", spelled_, shown(first)));
        }
        break;
      case Action::set_for_all:
        result_.environment.push_back(assignment(arguments));
        break;
      case Action::set_for_program:
        program_.environment.push_back(assignment(arguments));
        break;
      case Action::keep_all:
        result_.environment_base = EnvironmentBase::all;
        break;
      case Action::keep_none:
        result_.environment_base = EnvironmentBase::none;
        break;
      case Action::keep_list:
        result_.environment_base = EnvironmentBase::listed;
        for (std::stringstream names(first); names.good();) {
          std::getline(names, result_.environment_list.emplace_back(), ',');
        }
        break;
      case Action::drop:
        for (std::stringstream names(first); names.good();) {
          std::string name;
          std::getline(names, name, ',');
          result_.environment.push_back({name, std::nullopt});
        }
        break;
      case Action::directory:
        program_.directory = first;
        break;
      case Action::initial_errhandler:
        if (first != "mpi_errors_are_fatal" && first != "mpi_errors_abort" &&
            first != "mpi_errors_return") {
          throw Mistake{fmt::format(
              "{} takes mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return, not '{}'",
              spelled_, shown(first))};
        }
        program_.environment.push_back({initial_errhandler_variable, first});
        break;
      case Action::memory_kinds:
        program_.environment.push_back({memory_kinds_variable, first});
        break;
      case Action::label:
        result_.output.labelled = true;
        break;
      case Action::time_lines:
        result_.output.timed = true;
        break;
      case Action::merge_output:
        result_.output.merged = true;
        break;
      case Action::output_files:
        read_output_files(spelled_, first, result_.output);
        break;
      case Action::output:
        read_output_list(spelled_, first, result_.output);
        break;
      case Action::timeout:
        result_.timeout_seconds = parse_seconds(spelled_, first);
        timeout_given_ = true;
        break;
      case Action::bind:
        read_binding(spelled_, option.arguments == 0 ? std::string(option.note) : first, result_);
        break;
      case Action::cpus_per_rank:
        set_places(parse_places(spelled_, first));
        break;
      case Action::map_by:
        if (const std::optional<int> places = places_in_mapping(spelled_, first)) {
          set_places(*places);
          result_.places_option = fmt::format("{} {}", spelled_, shown(first));
        }
        if (const std::optional<std::string> ranks = ranks_in_mapping(first)) {
          set_ranks_of_resource(*ranks, first);
        }
        result_.notes.push_back(fmt::format("{}: {}", spelled_, option.note));
        break;
      case Action::report_bindings:
        result_.report_bindings = true;
        break;
      case Action::display:
        if (const std::string rest = without_bindings(first); !rest.empty()) {
          result_.notes.push_back(
              fmt::format("{} {} is ignored: {}", spelled_, shown(rest), option.note));
        }
        result_.report_bindings = result_.report_bindings || without_bindings(first) != first;
        break;
      case Action::verbose:
        result_.verbose = true;
        break;
      case Action::quiet:
        result_.quiet = true;
        break;
      case Action::help:
        output = help_text();
        break;
      case Action::version:
        output = fmt::format("mpiexec (Meantime) {}\n", version);
        break;
      case Action::debugger:
        if (option.arguments == 1 && first != "gdb") {
          throw Mistake{fmt::format("{} takes gdb, not '{}'", spelled_, shown(first))};
        }
        result_.debugger = true;
        break;
      case Action::on_deadlock:
        result_.on_deadlock = parse_deadlock_action(spelled_, first);
        result_.on_deadlock_given = true;
        break;
      case Action::wait:
        if (std::string wrong = settings::problem(*settings::find("MEANTIME_WAIT"), first);
            !wrong.empty()) {
          throw Mistake{fmt::format("{}: {}", spelled_, wrong)};
        }
        wait_ = first;
        break;
      case Action::guest:
        if (first.empty()) {
          throw Mistake{fmt::format("{} takes proc:COMMAND, or a ready guest's name", spelled_)};
        }
        result_.environment.push_back({"MEANTIME_GUEST", first});
        break;
      case Action::guest_freeze:
        result_.environment.push_back({"MEANTIME_GUEST_FREEZE", "1"});
        break;
      case Action::max_overhead: {
        const std::string percent = first.substr(0, first.find_last_not_of('%') + 1);
        if (std::string wrong =
                settings::problem(*settings::find("MEANTIME_GUEST_OVERHEAD"), percent);
            !wrong.empty()) {
          throw Mistake{fmt::format("{}: {}", spelled_, wrong)};
        }
        result_.environment.push_back({"MEANTIME_GUEST_OVERHEAD", percent});
        break;
      }
      case Action::ledger_report:
        if (first.empty()) {
          result_.report = true;
        } else if (auto& files = result_.report_files;
                   std::find(files.begin(), files.end(), first) == files.end()) {
          files.push_back(first);
        }
        break;
      case Action::kind:
        kind_ = parse_kind("--as", first);
        break;
      case Action::ranks_per_process:
        result_.for_threads = true;
        result_.ranks_per_process = parse_ranks(spelled_, first);
        break;
      case Action::place:
        result_.for_threads = true;
        if (first.starts_with("file:")) {
          result_.placement = Placement::file;
          result_.placement_file = first.substr(5);
          break;
        }
        if (first != "block" && first != "round-robin") {
          throw Mistake{fmt::format("--place takes block or round-robin or file:PATH, not '{}'",
                                    shown(first))};
        }
        result_.placement = first == "block" ? Placement::block : Placement::round_robin;
        break;
      case Action::balance:
        if (first != "none" && first != "steal") {
          throw Mistake{fmt::format("--balance takes none or steal, not '{}'", shown(first))};
        }
        result_.balance = first == "none" ? Balance::none : Balance::steal;
        result_.for_threads = true;
        break;
      case Action::standard_input:
        result_.stdin_rank = parse_input_rank(spelled_, first);
        break;
      case Action::hosts:
        add_nodes(hosts_, known_nodes_.empty() ? nodes_of_list(spelled_, first) : known_nodes_);
        break;
      case Action::host_file:
        add_nodes(hosts_, known_nodes_.empty() ? nodes_of_file(spelled_, first) : known_nodes_);
        break;
      case Action::remote_shell:
        result_.environment.push_back({"MEANTIME_REMOTE_SHELL", first});
        break;
      case Action::ignore:
        result_.notes.push_back(fmt::format("{} is ignored: {}", spelled_, option.note));
        break;
      case Action::refuse:
        // What to use instead goes by --as, which may follow.
        if (refused_ == nullptr) {
          refused_ = &option;
          refused_as_ = spelled_;
        }
        break;
    }
  }

  EnvironmentEdit assignment(const std::vector<std::string>& arguments) const {
    if (arguments[0].find('=') != std::string::npos) {
      return split_assignment(spelled_, arguments[0]);
    }
    if (arguments[0].empty()) {
      throw Mistake{fmt::format("{} wants a name and a value", spelled_)};
    }
    return {arguments[0], arguments[1]};
  }

  const std::vector<std::string>& words_;
  const std::vector<NodeRequest>& known_nodes_;  ///< none: they are to be found
  std::size_t position_ = 0;
  std::string spelled_;
  ProgramRequest program_;
  const Option* refused_ = nullptr;  ///< the first that was met
  std::string refused_as_;           ///< as typed
  // Of this program, each more important than the next; 0: not given.
  int ranks_ = 0;
  int ranks_per_node_ = 0;
  std::vector<NodeRequest> hosts_;
  std::string not_counted_;  ///< what would be ranks_per_node_, of a resource that is not counted
  bool timeout_given_ = false;
  // Of this and the programs that follow, until another is given.
  std::optional<std::string> wait_;
  RankKind kind_ = RankKind::processes;
  std::map<Action, std::string> of_the_job_;  ///< what programs before this one have said for all
  CommandLine result_;
};

}  // namespace

int CommandLine::ranks() const {
  long total = 0;
  for (const ProgramRequest& program : programs) {
    total += program.ranks;
  }
  return static_cast<int>(std::min(total, 1L << 30));
}

std::string in_vain(const CommandLine& command, bool any_processes, bool any_threads) {
  if (!any_threads && command.for_threads) {
    return "--place, --balance and --ranks-per-process are for thread ranks (--as threads); a "
           "process rank runs on any CPU, or where --bind pins it";
  }
  if (!any_processes && command.binding != Binding::none) {
    return fmt::format(
        "{} is for process ranks; every worker of thread ranks has a CPU of its own, and --place "
        "says which ranks begin on it",
        command.binding_option.empty() ? command.places_option : command.binding_option);
  }
  return {};
}

ParsedCommandLine parse_command_line(const std::vector<std::string>& words,
                                     const std::vector<NodeRequest>& nodes) {
  ParsedCommandLine parsed;
  try {
    Parser parser(words, nodes);
    CommandLine command = parser.parse();
    parsed.output = parser.output;
    if (parser.output.empty()) {
      parsed.command = std::move(command);
    }
  } catch (const Mistake& mistake) {
    parsed.error = mistake.text;
    parsed.status = usage_status;
  }
  return parsed;
}

}  // namespace meantime::launch
