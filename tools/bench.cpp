// `meantime bench`: hands over to the Python scripts in share/meantime/bench (bench/shipped in the
// sources), which run the installed benchmarks and draw their figures.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "launch/start/installation.h"
#include "subcommands.h"

namespace meantime::tools {

int bench(std::vector<std::string> words) {
  const std::string prefix = launch::prefix();
  const std::string scripts = prefix + "/share/meantime/bench/shipped";
  if (access((scripts + "/__main__.py").c_str(), R_OK) != 0) {
    fmt::print(stderr, "meantime bench: {} is missing: install Meantime anew\n", scripts);
    return 2;
  }
  // -B: an installation may belong to somebody else, and stays as it was installed.
  words.insert(words.begin(), {"python3", "-B", scripts, prefix});
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  execvp(arguments[0], arguments.data());
  fmt::print(stderr, "meantime bench: needs python3 in PATH: {}\n", std::strerror(errno));
  return 2;
}

}  // namespace meantime::tools
