#include "launch/start/spawn.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

#include "launch/start/system_call.h"

namespace meantime::launch {

namespace {

constexpr std::size_t stack_bytes = 16 * 1024;

// Sanitizers keep notes per thread, which a child beside us would spoil: there we wait for it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int sharing = CLONE_VM | CLONE_VFORK;
#else
constexpr int sharing = CLONE_VM;
#endif

struct Start {
  Spawn* spawn;
  pid_t parent;
};

[[noreturn]] void leave(Spawn& spawn, SpawnStep step, long error) {
  spawn.failed_step = step;
  spawn.error = static_cast<int>(-error);
  for (;;) {
    raw_call(SYS_exit_group, 127);
  }
}

// What the kernel means by sigaction for SIG_DFL and SIG_IGN: all else is zero.
void set_disposition(int signal, void (*handler)(int)) {
  struct {
    void (*handler)(int);
    unsigned long flags, restorer, mask;
  } action = {handler, 0, 0, 0};
  raw_call(SYS_rt_sigaction, signal, as_word(&action), 0, sizeof action.mask);
}

// As execvp(3): a text file without "#!" is for the shell. What is not text is an error.
long execute(Spawn& spawn) {
  long error = raw_call(SYS_execve, as_word(spawn.path.c_str()), as_word(spawn.arguments.data()),
                        as_word(spawn.environment.data()));
  if (error != -ENOEXEC) {
    return error;
  }
  char head[64] = {};
  long file = raw_call(SYS_openat, AT_FDCWD, as_word(spawn.path.c_str()), O_RDONLY | O_CLOEXEC);
  long bytes = file < 0 ? file : raw_call(SYS_read, file, as_word(head), sizeof head);
  for (long i = 0; i < bytes; ++i) {
    if (head[i] == '\0' || head[0] == 0x7f) {
      return error;
    }
  }
  if (bytes < 0) {
    return bytes;
  }
  std::size_t count = spawn.arguments.size();  // the null at the end included
  long place = raw_call(SYS_mmap, 0, static_cast<long>((count + 1) * sizeof(char*)),
                        PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place < 0 && place > -4096) {
    return place;
  }
  auto** words = reinterpret_cast<const char**>(place);
  words[0] = "/bin/sh";
  words[1] = spawn.path.c_str();
  for (std::size_t i = 1; i < count; ++i) {
    words[i + 1] = spawn.arguments[i];
  }
  return raw_call(SYS_execve, as_word(words[0]), as_word(words), as_word(spawn.environment.data()));
}

// Runs in our memory beside us: system calls only, nothing that allocates, locks or sets errno.
int child_main(void* argument) {
  const Start start = *static_cast<Start*>(argument);
  Spawn& spawn = *start.spawn;
  raw_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  if (raw_call(SYS_getppid) != start.parent) {
    leave(spawn, SpawnStep::none, 0);  // mpiexec died before the line above could promise anything
  }
  if (char* digit = spawn.end_of_own_pid) {
    for (long rest = raw_call(SYS_getpid); rest > 0; rest /= 10) {
      *--digit = static_cast<char>('0' + rest % 10);
    }
  }
  if (spawn.network >= 0) {
    if (long result = raw_call(SYS_setns, spawn.network, CLONE_NEWNET); result < 0) {
      leave(spawn, SpawnStep::network, result);
    }
  }
  for (const ChildDescriptor& descriptor : spawn.descriptors) {
    long result = descriptor.ours == descriptor.theirs
                      ? raw_call(SYS_fcntl, descriptor.ours, F_SETFD, 0)
                      : raw_call(SYS_dup3, descriptor.ours, descriptor.theirs, 0);
    if (result < 0) {
      leave(spawn, SpawnStep::descriptors, result);
    }
  }
  if (spawn.directory != nullptr) {
    if (long result = raw_call(SYS_chdir, as_word(spawn.directory)); result < 0) {
      leave(spawn, SpawnStep::directory, result);
    }
  }
  if (spawn.cpus != nullptr) {
    raw_call(SYS_sched_setaffinity, 0, sizeof *spawn.cpus, as_word(spawn.cpus));
  }
  if (spawn.descriptor_limit) {
    raw_call(SYS_prlimit64, 0, RLIMIT_NOFILE, as_word(&*spawn.descriptor_limit), 0);
  }
  for (int signal : spawn.ignored_signals) {
    set_disposition(signal, SIG_IGN);
  }
  for (int signal : spawn.default_signals) {
    set_disposition(signal, SIG_DFL);
  }
  if (spawn.signal_mask != nullptr) {
    raw_call(SYS_rt_sigprocmask, SIG_SETMASK, as_word(spawn.signal_mask), 0, 8);
  }
  leave(spawn, SpawnStep::run, execute(spawn));
}

}  // namespace

pid_t spawn(Spawn& spawn) {
  // The child's own stack, below what it needs to know; kept, for when it is done is not known.
  void* stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) {
    return -errno;
  }
  auto* start = reinterpret_cast<Start*>(static_cast<char*>(stack) + stack_bytes) - 1;
  *start = {&spawn, getpid()};
  pid_t pid = clone(child_main, start, sharing | SIGCHLD, start);
  return pid < 0 ? -errno : pid;
}

}  // namespace meantime::launch
