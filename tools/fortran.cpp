#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "launch/start/installation.h"
#include "subcommands.h"

namespace meantime::tools {

int fortran(const std::vector<std::string>& words) {
  std::string script = launch::prefix() + "/share/meantime/fortran/build-bindings";
  std::string prefix = "--prefix=" + launch::prefix();
  std::vector<char*> arguments = {script.data(), prefix.data()};
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  execv(script.c_str(), arguments.data());
  fmt::print(stderr, "meantime: cannot run '{}': {}\n", script, std::strerror(errno));
  return 2;
}

}  // namespace meantime::tools
