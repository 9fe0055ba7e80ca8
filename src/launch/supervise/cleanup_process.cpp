#include "launch/supervise/cleanup_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace meantime::launch {
namespace {

/// Whatever it had of mpiexec's that somebody may wait for the end of, or could connect to.
void let_go(const Job& job) {
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    dup2(nothing, descriptor);
  }
  for (const int descriptor : {job.latency_hold, job.meeting_socket}) {
    if (descriptor >= 0) {
      close(descriptor);
    }
  }
  for (const int file : job.report_files) {
    close(file);
  }
}

[[noreturn]] void undo_at_the_end(Job& job, int end_of_both) {
  char nothing = 0;
  while (read(end_of_both, &nothing, 1) < 0 && errno == EINTR) {
  }
  job.frequencies.undo();
  _exit(0);
}

}  // namespace

bool start_cleanup_process(Job& job, void (*rename)(const char*, char**), char** arguments) {
  int ends[2];  // nobody writes; the kernel closes the write end with the last who has it
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return false;
  }
  const pid_t between = fork();
  if (between == 0) {
    close(ends[1]);
    setsid();
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    const pid_t cleanup = fork();
    if (cleanup != 0) {
      _exit(cleanup > 0 ? 0 : 1);
    }
    rename(cleanup_process_name, arguments);
    let_go(job);
    undo_at_the_end(job, ends[0]);
  }
  close(ends[0]);
  int status = 1;
  const bool started = between > 0 && waitpid(between, &status, 0) == between && status == 0;
  if (!started) {
    close(ends[1]);
    errno = EAGAIN;
  }
  return started;  // the write end stays open as long as this process, and whom it forks, live
}

}  // namespace meantime::launch
