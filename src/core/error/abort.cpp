#include "core/error/abort.h"

#include <fmt/format.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "node/control_client.h"
#include "rank/rank_of_thread.h"
#include "settings/shown.h"
#include "symbolize/symbolized_text.h"

namespace meantime::core {
namespace {

/// What the program printed before it gave up says why: it must not be lost in a buffer. Another
/// thread may hold the stream for ever, so it is only tried.
void show_what_was_printed() {
  if (rank_of_thread().fiber != nullptr) {
    std::fflush(nullptr);  // the rank's own streams (src/host/interpose/open_streams.h)
    return;
  }
  if (ftrylockfile(stdout) == 0) {
    fflush_unlocked(stdout);
    funlockfile(stdout);
  }
}

}  // namespace

void abort_job(int code, std::string_view text) {
  show_what_was_printed();
  Rank& rank = rank_of_thread();
  if (rank.control != nullptr && rank.control->abort(code, text)) {
    // mpiexec prints the one line and ends us with the others.
    static_cast<void>(rank.control->wait_to_be_ended());
  } else if (!text.empty()) {
    std::string line = rank.world_size > 1
                           ? fmt::format("Meantime: rank {}: {}", rank.world_rank, text)
                           : fmt::format("Meantime: {}", text);
    if (getauxval(AT_SECURE) == 0) {  // a search along PATH is for who has only his user's rights
      line = launch::symbolized(line, getpid());
    }
    line = settings::shown(line, settings::any_length) + '\n';
    // One write: lines of several ranks do not mix.
    [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
  }
  // As mpiexec has it: eight bits, and an error must not become a success by losing the others.
  _exit(code != 0 && (code & 0xff) == 0 ? 1 : code & 0xff);
}

}  // namespace meantime::core
