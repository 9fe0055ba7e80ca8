#include "launch/cli/notes.h"

#include "launch/messages.h"

namespace meantime::launch {

void note(Job& job, const std::string& line, bool is_news) {
  if (line.empty()) {
    return;
  }
  if (is_news || job.command.verbose) {
    say(line);
  } else {
    job.notes.push_back(line);
  }
}

}  // namespace meantime::launch
