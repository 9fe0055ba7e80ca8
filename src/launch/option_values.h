// What the words after mpiexec's options mean, each a function: what makes no sense is thrown as a
// Mistake. (Names of bindings and of what is done in a deadlock: command_line.h.)
#pragma once

#include <string>
#include <string_view>

#include "launch/command_line.h"

namespace meantime::launch {

/// A mistake on the command line, as one line for the user.
struct Mistake {
  std::string text;
};

/// Host lists and files may name this machine only, in any way that launchers understand.
void require_local(std::string_view option, std::string_view host);
void require_local_list(std::string_view option, const std::string& list);
void require_local_file(std::string_view option, const std::string& path);

int parse_ranks(std::string_view option, const std::string& word);
double parse_seconds(std::string_view option, const std::string& word);
Binding parse_binding(std::string_view option, std::string word);
DeadlockAction parse_deadlock_action(std::string_view option, const std::string& word);
EnvironmentEdit split_assignment(std::string_view option, const std::string& word);

}  // namespace meantime::launch
