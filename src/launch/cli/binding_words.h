// What users say of the CPUs of ranks, each launcher's users in their words: --bind-to core:2,
// -bind-to user:0+1,2, --map-by slot:PE=2. What makes no sense is thrown as a Mistake.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launch/cli/command_line.h"

namespace meantime::launch {

/// The value of --bind, -bind-to and the like. Sets the binding, and what the word says with it:
/// the list of `user:`, or MPICH's number of places for each rank (`core:2`).
void read_binding(std::string_view option, const std::string& word, CommandLine& command);

/// The PE=N of --map-by, anywhere in it; the rest of a mapping is about other nodes and slots.
std::optional<int> places_in_mapping(std::string_view option, const std::string& word);

/// The N:RESOURCE of a mapping by ppr:N:RESOURCE; as it was typed.
std::optional<std::string> ranks_in_mapping(const std::string& word);

/// How many ranks N:RESOURCE are here: N for the node, or for each socket, core, ... that this job
/// may use. 0: it is a RESOURCE that is not counted.
int ranks_of_resource(std::string_view option, const std::string& word);

int parse_places(std::string_view option, const std::string& word);

/// When all is said: more than one place for each rank means cores where nothing else is bound, as
/// with Open MPI. Notes what has no effect.
void settle_binding(CommandLine& command);

}  // namespace meantime::launch
