// The programs that a host's ranks run.
#pragma once

#include <memory>
#include <vector>

#include "host/process/rank_state.h"
#include "protocol/host_words.h"

namespace meantime::host {

std::unique_ptr<Program> open_program(launch::HostProgram& what);
/// Where this executable has its block of `bytes` for the programs' thread-local variables. If it
/// is too small another executable takes this one's place.
ThreadRoom find_thread_room(const std::vector<std::unique_ptr<Program>>& programs, char** words,
                            const char* block, std::size_t bytes);
/// Only loads one, for somebody who reads its standard output
/// (launch/thread_ranks/host_trial.cpp).
[[noreturn]] void try_to_load(char** arguments, const char* block, std::size_t bytes);

}  // namespace meantime::host
