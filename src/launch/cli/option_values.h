// What the words after mpiexec's options mean, each a function: what makes no sense is thrown as a
// Mistake. (Names of bindings and of what is done in a deadlock: command_line.h. What is said of
// ranks' CPUs: binding_words.h.)
#pragma once

#include <string>
#include <string_view>

#include "launch/cli/command_line.h"

namespace meantime::launch {

/// A mistake on the command line, as one line for the user.
struct Mistake {
  std::string text;
};

int parse_ranks(std::string_view option, const std::string& word);
double parse_seconds(std::string_view option, const std::string& word);
RankKind parse_kind(std::string_view option, const std::string& word);
/// -1: none.
int parse_input_rank(std::string_view option, const std::string& word);
DeadlockAction parse_deadlock_action(std::string_view option, const std::string& word);
/// Of a list of what is to be shown what is neither bind nor map.
std::string without_bindings(const std::string& list);

/// "DIR", "DIR:nocopy"
void read_output_files(std::string_view option, const std::string& word, RankOutput& output);
/// "tag,timestamp,merge,dir=DIR", as Open MPI 5 has it
void read_output_list(std::string_view option, const std::string& list, RankOutput& output);
EnvironmentEdit split_assignment(std::string_view option, const std::string& word);

}  // namespace meantime::launch
