#include "launch/nodes/remote_shell.h"

#include <cstdlib>
#include <sstream>

#include "launch/cli/host_list.h"
#include "launch/nodes/order.h"
#include "launch/nodes/slurm.h"
#include "launch/start/installation.h"
#include "launch/start/program.h"

namespace meantime::launch {
namespace {

/// No prompt, for there may be no terminal, and not more patience than a user has.
constexpr char usual_shell[] = "ssh -x -o BatchMode=yes -o ConnectTimeout=10";

/// One word for the shell there.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char letter : word) {
    text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  }
  return text + "'";
}

}  // namespace

std::vector<std::string> words_to_start_on(std::string_view machine, std::string_view remote_shell,
                                           bool in_slurm) {
  const std::string mpiexec = prefix() + "/bin/mpiexec";
  if (is_this_machine(machine)) {
    return {mpiexec, node_word};
  }
  if (in_slurm && remote_shell.empty()) {
    std::vector<std::string> words = slurm_shell(machine);
    words.insert(words.end(), {mpiexec, node_word});
    return words;
  }
  std::vector<std::string> words;
  std::istringstream shell(std::string(remote_shell.empty() ? usual_shell : remote_shell));
  for (std::string word; shell >> word;) {
    words.push_back(word);
  }
  words.emplace_back(machine);
  words.push_back("exec " + quoted(mpiexec) + " " + node_word);
  return words;
}

std::string remote_shell_program(const std::vector<std::string>& words) {
  const char* const path = std::getenv("PATH");
  return resolve_program(words.front(), "", path != nullptr ? path : "/usr/bin:/bin").path;
}

}  // namespace meantime::launch
