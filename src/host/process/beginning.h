// A thread rank from its making to the first instruction of its program.
#pragma once

#include "host/process/rank_state.h"
#include "protocol/host_words.h"

namespace meantime::host {

/// The next one of the host: its environment, its streams, its image.
void make_rank(const launch::HostWords& words, const Program& program, const ThreadRoom& room);
/// On the rank's own thread: from here on its control block knows whose it is.
void prepare_rank(int index);
/// Begins its program, and does not come back.
void run_rank(int index);
/// "program", of "/path/to/program"
char* last_part(char* path);

}  // namespace meantime::host
