#include "launch/spawn.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <cerrno>

namespace meantime::launch {

namespace {

struct Child {
  const SpawnRequest* request;
  pid_t parent;
  int error;
  const char* step;
};

int fail(Child& child, const char* step) {
  child.error = errno;
  child.step = step;
  _exit(127);
}

void execute(const SpawnRequest& request) {
  execve(request.path, request.arguments, request.environment);
  if (errno != ENOEXEC) {
    return;
  }
  // As execvp(3): a text file without "#!" is for the shell. What is not text is an error.
  char head[64];
  int file = open(request.path, O_RDONLY | O_CLOEXEC);
  ssize_t bytes = file < 0 ? -1 : read(file, head, sizeof head);
  for (ssize_t i = 0; i < bytes; ++i) {
    if (head[i] == '\0') {
      bytes = -1;
    }
  }
  if (bytes < 0) {
    errno = ENOEXEC;
    return;
  }
  std::size_t count = 0;
  while (request.arguments[count] != nullptr) {
    ++count;
  }
  // The stack of a few pages is enough: arguments were checked to fit when they came in.
  auto** arguments =
      static_cast<const char**>(mmap(nullptr, (count + 2) * sizeof(char*), PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (arguments == MAP_FAILED) {
    return;
  }
  arguments[0] = "/bin/sh";
  arguments[1] = request.path;
  for (std::size_t i = 1; i <= count; ++i) {
    arguments[i + 1] = request.arguments[i];
  }
  execve("/bin/sh", const_cast<char* const*>(arguments), request.environment);
}

// Runs in our memory while we are suspended: only system calls, nothing that allocates or locks.
int child_main(void* argument) {
  Child& child = *static_cast<Child*>(argument);
  const SpawnRequest& request = *child.request;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != child.parent) {
    _exit(127);  // mpiexec died before the line above could promise anything
  }
  if (request.process_group > 0) {
    setpgid(0, request.process_group);  // fails only if that group has just ended
  }
  for (const ChildDescriptor& descriptor : request.descriptors) {
    if (descriptor.ours == descriptor.theirs) {
      if (fcntl(descriptor.ours, F_SETFD, 0) != 0) {
        return fail(child, "pass on a descriptor");
      }
    } else if (dup2(descriptor.ours, descriptor.theirs) < 0) {
      return fail(child, "pass on a descriptor");
    }
  }
  if (request.directory != nullptr && chdir(request.directory) != 0) {
    return fail(child, "change to the directory");
  }
  if (request.cpus != nullptr) {
    sched_setaffinity(0, sizeof *request.cpus, request.cpus);
  }
  if (request.descriptor_limit) {
    setrlimit(RLIMIT_NOFILE, &*request.descriptor_limit);
  }
  for (int signal : request.ignored_signals) {
    ::signal(signal, SIG_IGN);
  }
  for (int signal : request.default_signals) {
    ::signal(signal, SIG_DFL);
  }
  if (request.signal_mask != nullptr) {
    sigprocmask(SIG_SETMASK, request.signal_mask, nullptr);
  }
  execute(request);
  return fail(child, "run");
}

}  // namespace

SpawnResult spawn(const SpawnRequest& request) {
  constexpr std::size_t stack_bytes = 64 * 1024;
  // One stack for all children: each is done with it when clone returns here.
  static void* stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  SpawnResult result;
  if (stack == MAP_FAILED) {
    result.error = ENOMEM;
    result.step = "start a process";
    return result;
  }
  Child child{&request, getpid(), 0, nullptr};
  result.pid = clone(child_main, static_cast<char*>(stack) + stack_bytes,
                     CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
  if (result.pid < 0) {
    result.error = errno;
    result.step = "start a process";
    return result;
  }
  if (child.error != 0) {
    waitpid(result.pid, nullptr, 0);
    result.pid = -1;
    result.error = child.error;
    result.step = child.step;
  }
  return result;
}

}  // namespace meantime::launch
