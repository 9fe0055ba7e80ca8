// A command that something is kept for while it runs, and that leaves no process behind. As mpiexec
// it has two processes:
//   front    the one that the user sees: passes signals on, ends as the command has ended
//   keeper   its child, has what is kept, starts the command, and ends whatever that leaves
// Whichever of the two is killed, the other one ends all that there is.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace meantime::tools {

struct KeptCommand {
  std::string name;                ///< whose lines on standard error these are
  std::string path;                ///< of the program
  std::vector<std::string> words;  ///< its own name first
  /// Called in the keeper, before the command is started in the environment that this leaves.
  /// Empty, or one line why it is not to be started.
  std::function<std::string()> keep;
};

/// What `keep` has said, or empty: then `status` is the command's, 128 and the signal for one that
/// a signal has ended. Does not return after the terminal's interrupt, but ends by it.
std::string run_kept(const KeptCommand& command, int& status);

}  // namespace meantime::tools
