// meantime-queue FOLDER: a guest that runs the command files of a folder (`--guest queue:FOLDER`),
// one after another, in the order of their names; several of them may share a folder, also of jobs
// on other nodes.
//   entry    a file in FOLDER: a program if it may be executed, else words for sh
//   claim    the lock (flock) on an entry's file. The command inherits it: so the entry is free
//            when the last process of a command that was cut off is gone, whoever killed whom, and
//            not before. Nobody has to put it back
//   done     the entry's file is in FOLDER/done (it ended with status 0) or FOLDER/failed: one
//            rename, at once when the command has ended, so that it is run no second time
// Beside it there are then NAME.log, what the command wrote, and NAME.status, its exit status as a
// shell has it. A command that ends with another status than 0 after SIGINT or SIGTERM, which come
// at the end of the job, was cut off: it is run again from its beginning.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <set>
#include <string>

namespace {

/// An empty folder is looked at again.
constexpr timespec pause_between_looks{0, 200'000'000};

volatile std::sig_atomic_t told_to_end = 0;

void end(int) {
  told_to_end = 1;
}

int complain(const std::string& what) {
  fmt::print(stderr, "meantime-queue: {}: {}\n", what, std::strerror(errno));
  return 1;
}

std::set<std::string> entries(const std::string& folder) {
  std::set<std::string> names;
  if (DIR* const opened = opendir(folder.c_str())) {
    while (const dirent* entry = readdir(opened)) {
      struct stat status {};
      if (entry->d_name[0] != '.' && lstat((folder + '/' + entry->d_name).c_str(), &status) == 0 &&
          S_ISREG(status.st_mode)) {
        names.insert(entry->d_name);
      }
    }
    closedir(opened);
  }
  return names;
}

/// The entry's file, locked; -1: it is somebody else's, or done.
int claim(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW);  // not close-on-exec: the claim
  struct stat locked {};
  struct stat there {};
  if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &locked) == 0 &&
      lstat(path.c_str(), &there) == 0 && there.st_ino == locked.st_ino &&
      there.st_dev == locked.st_dev) {
    return file;
  }
  close(file);
  return -1;
}

[[noreturn]] void become(const std::string& path, const std::string& log, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(1);
  }
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (output >= 0) {
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
  }
  if (access(path.c_str(), X_OK) == 0) {
    execl(path.c_str(), path.c_str(), nullptr);
  } else {
    execl("/bin/sh", "sh", path.c_str(), nullptr);
  }
  if (errno == ENOEXEC) {
    execl("/bin/sh", "sh", path.c_str(), nullptr);
  }
  _exit(complain(path) + 125);
}

/// As a shell says it. Also when signals come meanwhile: the command has them, too.
int status_of(pid_t command) {
  int status = 0;
  while (waitpid(command, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Whether it has an end of its own.
bool run(const std::string& folder, const std::string& name) {
  const std::string path = folder + '/' + name;
  const int file = claim(path);
  if (file < 0) {
    return false;
  }
  const std::string done = folder + "/done/" + name;
  const std::string failed = folder + "/failed/" + name;
  const pid_t self = getpid();
  const pid_t command = fork();
  if (command == 0) {
    become(path, done + ".log", self);
  }
  const int status = command > 0 ? status_of(command) : 126;
  const bool ended = status == 0 || !told_to_end;
  if (ended && rename(path.c_str(), (status == 0 ? done : failed).c_str()) == 0) {
    if (status != 0) {
      rename((done + ".log").c_str(), (failed + ".log").c_str());
    }
    const std::string said = (status == 0 ? done : failed) + ".status";
    if (std::FILE* const out = std::fopen(said.c_str(), "we")) {
      fmt::print(out, "{}\n", status);
      std::fclose(out);
    }
  }
  close(file);
  return ended;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("usage: meantime-queue FOLDER\n", stderr);
    return 2;
  }
  const std::string folder = words[1];
  for (const char* const part : {"/done", "/failed"}) {
    if (mkdir((folder + part).c_str(), 0777) != 0 && errno != EEXIST) {
      return complain(folder + part);
    }
  }
  struct sigaction ending {};
  ending.sa_handler = end;
  sigaction(SIGINT, &ending, nullptr);
  sigaction(SIGTERM, &ending, nullptr);
  unsigned long units = 0;
  while (!told_to_end) {
    bool any = false;
    for (const std::string& name : entries(folder)) {
      if (told_to_end) {
        break;
      }
      const bool ended = run(folder, name);
      units += ended ? 1 : 0;
      any = any || ended;
    }
    if (!any && !told_to_end) {
      nanosleep(&pause_between_looks, nullptr);
    }
  }
  fmt::print("units {}\n", units);
  return 0;
}
