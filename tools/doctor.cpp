// `meantime doctor`: what of this machine and this installation makes jobs slower or keeps them
// from running.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "launch/start/cpus.h"
#include "launch/start/installation.h"
#include "launch/start/program.h"
#include "node/control_client.h"
#include "settings/shown.h"
#include "settings/terminal.h"
#include "subcommands.h"

namespace meantime::tools {

namespace {

/// How a finding bears on running jobs.
enum class Finding { good, slower, bad };

class Examination {
 public:
  void tell(Finding finding, const char* subject, const std::string& text) {
    const char* mark = finding == Finding::good     ? "ok  "
                       : finding == Finding::slower ? "note"
                                                    : "BAD ";
    const std::string line =
        fmt::format("{}  {:<22} {}\n", mark, subject, settings::shown(text, settings::any_length));
    std::fputs(settings::laid_out(line, settings::page_of(STDOUT_FILENO)).c_str(), stdout);
    failed_ = failed_ || finding == Finding::bad;
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  bool failed_ = false;
};

void look_at_installation(Examination& examination) {
  std::string prefix = launch::prefix();
  std::string library = launch::library_folder();
  examination.tell(library.empty() ? Finding::bad : Finding::good, "library",
                   library.empty()
                       ? fmt::format("no {} in {}/lib", launch::library_file_name, prefix)
                       : library + "/" + std::string(launch::library_file_name));
  for (const char* wrapper : {"mpicc", "mpicxx", "mpiexec"}) {
    std::string path = prefix + "/bin/" + wrapper;
    bool runs = access(path.c_str(), X_OK) == 0;
    launch::ResolvedProgram first = launch::find_program(wrapper);
    char* real = first.path.empty() ? nullptr : realpath(first.path.c_str(), nullptr);
    char* ours = realpath(path.c_str(), nullptr);
    bool is_first = real != nullptr && ours != nullptr && std::strcmp(real, ours) == 0;
    if (!runs) {
      examination.tell(Finding::bad, wrapper, path + " cannot be run");
    } else if (is_first) {
      examination.tell(Finding::good, wrapper, path);
    } else {
      examination.tell(Finding::slower, wrapper,
                       fmt::format("{} (a plain '{}' is {})", path, wrapper,
                                   first.path.empty() ? "not found in PATH" : first.path));
    }
    std::free(real);
    std::free(ours);
  }
}

void try_shared_memory(Examination& examination) {
  constexpr off_t bytes = 64 << 20;
  int file = memfd_create("meantime-doctor", MFD_CLOEXEC);
  if (file < 0) {
    examination.tell(Finding::bad, "shared memory", fmt::format("memfd: {}", std::strerror(errno)));
    return;
  }
  if (fallocate(file, 0, 0, bytes) != 0) {
    examination.tell(Finding::bad, "shared memory",
                     fmt::format("64 MiB of memfd: {}", std::strerror(errno)));
  } else {
    examination.tell(Finding::good, "shared memory",
                     "memfd, 64 MiB at once (/dev/shm is not used)");
  }
  close(file);
}

// One process reads and writes a sibling's memory, as ranks do: being a parent would be allowed
// more.
void try_cross_memory(Examination& examination) {
  static char buffer[64 * 1024];
  int start[2];
  if (pipe2(start, O_CLOEXEC) != 0) {
    return;
  }
  pid_t holder = fork();
  if (holder == 0) {
    close(start[1]);
    std::memset(buffer, 7, sizeof buffer);
    char end = 0;
    (void)!read(start[0], &end, 1);
    _exit(0);
  }
  pid_t reader = fork();
  if (reader == 0) {
    usleep(20'000);
    static char copy[sizeof buffer];
    iovec here{copy, sizeof copy};
    iovec there{buffer, sizeof buffer};
    bool works =
        process_vm_readv(holder, &here, 1, &there, 1, 0) == static_cast<ssize_t>(sizeof copy) &&
        copy[0] == 7 &&
        process_vm_writev(holder, &here, 1, &there, 1, 0) == static_cast<ssize_t>(sizeof copy);
    _exit(works ? 0 : errno);
  }
  int status = 0;
  waitpid(reader, &status, 0);
  close(start[0]);
  close(start[1]);
  waitpid(holder, nullptr, 0);
  int error = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
  examination.tell(error == 0 ? Finding::good : Finding::slower, "cross-memory attach",
                   error == 0 ? "works between ranks: large messages are copied once"
                              : fmt::format("{}: large messages go through shared cells instead "
                                            "(kernel.yama.ptrace_scope, container seccomp?)",
                                            std::strerror(error)));
}

void try_lifeline(Examination& examination) {
  int line[2];
  int held[2];
  if (pipe2(line, 0) != 0 || pipe2(held, O_CLOEXEC) != 0) {
    return;
  }
  pid_t child = fork();
  if (child == 0) {
    close(line[1]);
    if (node::hold_lifeline(line[0]) != node::Lifeline::held || write(held[1], "", 1) != 1) {
      _exit(1);
    }
    for (;;) {
      pause();
    }
  }
  if (child < 0) {
    return;  // and nobody is killed: -1 would be everybody
  }
  close(line[0]);
  close(held[1]);
  char ready = 0;
  [[maybe_unused]] const auto got = read(held[0], &ready, 1);  // or the end of a child that cannot
  close(held[0]);
  close(line[1]);
  int status = 0;
  for (int i = 0; i < 100 && waitpid(child, &status, WNOHANG) == 0; ++i) {
    usleep(10'000);
  }
  bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  if (!killed) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  examination.tell(killed ? Finding::good : Finding::bad, "lifeline",
                   killed ? "ranks end with mpiexec, whatever kills it"
                          : "ranks may outlive a killed mpiexec (no signal-driven pipes)");
}

void look_at_cpus(Examination& examination) {
  launch::CpuBudget cpus = launch::cpu_budget();
  examination.tell(Finding::good, "CPUs",
                   fmt::format("{} in the affinity mask, {}, so {} workers", cpus.mask,
                               cpus.quota > 0 ? fmt::format("a quota of {:.2f}", cpus.quota)
                                              : std::string("no quota"),
                               cpus.workers));
}

void look_at_limits(Examination& examination) {
  rlimit files{};
  rlimit processes{};
  getrlimit(RLIMIT_NOFILE, &files);
  getrlimit(RLIMIT_NPROC, &processes);
  constexpr rlim_t own = 64;  // mpiexec's own descriptors
  rlim_t ranks = files.rlim_max > own ? files.rlim_max - own : 0;
  if (processes.rlim_cur < ranks) {
    ranks = processes.rlim_cur;
  }
  examination.tell(
      ranks < 64 ? Finding::slower : Finding::good, "limits",
      fmt::format("up to {} ranks (ulimit -Hn {}, -u {})", ranks, files.rlim_max,
                  processes.rlim_cur == RLIM_INFINITY ? std::string("unlimited")
                                                      : fmt::to_string(processes.rlim_cur)));
}

void look_for_peers(Examination& examination) {
  std::string found;
  for (const char* name :
       {"mpiexec.openmpi", "mpiexec.mpich", "mpiexec.hydra", "prterun", "srun"}) {
    launch::ResolvedProgram peer = launch::find_program(name);
    if (!peer.path.empty()) {
      found += (found.empty() ? "" : ", ") + peer.path;
    }
  }
  examination.tell(Finding::good, "other launchers", found.empty() ? "none found" : found);
}

}  // namespace

int doctor() {
  Examination examination;
  look_at_installation(examination);
  try_shared_memory(examination);
  try_cross_memory(examination);
  try_lifeline(examination);
  look_at_cpus(examination);
  look_at_limits(examination);
  look_for_peers(examination);
  std::fflush(stdout);
  return examination.failed() ? 1 : 0;
}

}  // namespace meantime::tools
