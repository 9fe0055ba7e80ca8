#include "launch/tasks/ancestors.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "machine/process_stat.h"

namespace meantime::launch {
namespace {

bool is_in_job(pid_t pid) {
  const char* const job = std::getenv("PMIX_NAMESPACE");
  const std::string sign = std::string("PMIX_NAMESPACE=") + (job != nullptr ? job : "");
  std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  for (std::string variable; std::getline(file, variable, '\0');) {
    if (variable == sign) {
      return true;
    }
  }
  return false;
}

}  // namespace

pid_t started_by_launcher(pid_t task) {
  pid_t pid = task;
  for (pid_t above = machine::process_stat(pid).parent; above > 1 && is_in_job(above);
       above = machine::process_stat(pid).parent) {
    pid = above;
  }
  return pid;
}

pid_t launcher_of(pid_t task) {
  return machine::process_stat(started_by_launcher(task)).parent;
}

}  // namespace meantime::launch
