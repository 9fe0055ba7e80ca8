#include "host/process/refusal.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "settings/shown.h"

namespace meantime::host {
namespace {

bool is_trial = false;

}  // namespace

void refuse_for_trial() {
  is_trial = true;
}

void give_up(const std::string& line) {
  const std::string text = (is_trial ? "" : "mpiexec: ") + settings::shown_lines(line) + "\n";
  [[maybe_unused]] const auto written =
      write(is_trial ? STDOUT_FILENO : STDERR_FILENO, text.data(), text.size());
  syscall(SYS_exit_group, 1);  // libc's is behind one of ours, and to find it may want memory
  __builtin_unreachable();
}

void refuse(const std::string& why) {
  give_up(is_trial ? why : why + "; start it without --as threads");
}

}  // namespace meantime::host
