// meantime-queue FOLDER: a guest that runs the command files of a folder (`--guest queue:FOLDER`),
// one after another, in the order of their names; several of them may share a folder.
//   entry    a file in FOLDER: a program if it may be executed, else words for sh. Nobody has it
//   open
//            for writing, and nobody else may write into it
//   claim    the lock (flock) on an entry's file. The command inherits it: so the entry is free
//            when the last process of a command that was cut off is gone, whoever killed whom, and
//            not before. Nobody has to put it back
//   done     the entry's file is in FOLDER/done (it ended with status 0) or FOLDER/failed: one
//            rename, at once when the command has ended, so that it is run no second time
// (As NAME~2 beside an earlier one of its name.) Beside it there are then NAME.log (.NAME.log
// before), what the command wrote, and NAME.status, its exit status as a shell has it. A command
// that ends with another status than 0 after SIGINT or SIGTERM, which come at the end of the job,
// was cut off: it is run again from its beginning.
#include <dirent.h>
#include <fcntl.h>
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

// Of what is kept beside an entry that has ended.
constexpr const char* log_end = ".log";
constexpr const char* status_end = ".status";

volatile std::sig_atomic_t told_to_end = 0;

void end(int) {
  told_to_end = 1;
}

int complain(const std::string& what, const char* why) {
  std::fprintf(stderr, "meantime-queue: %s: %s\n", what.c_str(), why);
  return 1;
}

bool ends_with(const std::string& name, const char* end) {
  return name.size() >= std::strlen(end) &&
         name.compare(name.size() - std::strlen(end), std::string::npos, end) == 0;
}

std::set<std::string> entries(const std::string& folder) {
  std::set<std::string> names;
  if (DIR* const opened = opendir(folder.c_str())) {
    while (const dirent* entry = readdir(opened)) {
      const std::string name = entry->d_name;
      struct stat status {};
      if (name[0] != '.' && name.back() != '~' && !ends_with(name, log_end) &&
          !ends_with(name, status_end) &&
          fstatat(dirfd(opened), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
          S_ISREG(status.st_mode)) {
        names.insert(name);
      }
    }
    closedir(opened);
  }
  return names;
}

/// Somebody is writing it still. (Where the file system has no leases nobody is known to.)
bool is_being_written(int file) {
  if (fcntl(file, F_SETLEASE, F_RDLCK) != 0) {
    return errno == EAGAIN;
  }
  fcntl(file, F_SETLEASE, F_UNLCK);
  return false;
}

/// Why it is not run, whoever has it; said once.
const char* refusal(const struct stat& entry) {
  return entry.st_uid != geteuid() && entry.st_uid != 0 ? "it belongs to somebody else"
         : (entry.st_mode & (S_IWGRP | S_IWOTH)) != 0   ? "others may write into it"
                                                        : nullptr;
}

void complain_once(const std::string& path, const char* why) {
  static std::set<std::string> said;
  if (said.insert(path).second) {
    complain(path, why);
  }
}

/// The entry's file, locked; -1: it is somebody else's, or done, or cannot be run.
int claim(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW);  // not close-on-exec: the claim
  struct stat locked {};
  struct stat there {};
  if (file < 0 || fstat(file, &locked) != 0) {
    if (errno != ENOENT) {
      complain_once(path, std::strerror(errno));
    }
    return -1;
  }
  if (const char* const why = refusal(locked)) {
    complain_once(path, why);
  } else if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      complain_once(path, std::strerror(errno));
    }
  } else if (!is_being_written(file) && lstat(path.c_str(), &there) == 0 &&
             there.st_ino == locked.st_ino && there.st_dev == locked.st_dev) {
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
  complain(path, std::strerror(errno));
  _exit(126);
}

/// As a shell says it. Also when signals come meanwhile: the command has them, too.
int status_of(pid_t command) {
  int status = 0;
  while (waitpid(command, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Among those that have ended: of the same name there may have been others before.
std::string free_place(const std::string& folder, const std::string& name) {
  std::string place = folder + name;
  struct stat status {};
  for (int again = 2; lstat(place.c_str(), &status) == 0; ++again) {
    place = folder + name + '~' + std::to_string(again);
  }
  return place;
}

enum class Outcome { not_ours, ended, cut_off, broken };

Outcome run(const std::string& folder, const std::string& name) {
  const std::string path = folder + '/' + name;
  const int file = claim(path);
  if (file < 0) {
    return Outcome::not_ours;
  }
  const std::string log = folder + "/." + name + log_end;
  const pid_t self = getpid();
  const pid_t command = fork();
  if (command == 0) {
    become(path, log, self);
  }
  if (command < 0) {
    complain(path, std::strerror(errno));
    close(file);
    return Outcome::broken;
  }
  const int status = status_of(command);
  const std::string place = free_place(folder + (status == 0 ? "/done/" : "/failed/"), name);
  Outcome outcome = Outcome::cut_off;
  if (status == 0 || !told_to_end) {
    outcome = rename(path.c_str(), place.c_str()) == 0 ? Outcome::ended : Outcome::broken;
  }
  if (outcome == Outcome::broken) {
    complain(place, std::strerror(errno));
  } else if (outcome == Outcome::ended) {
    rename(log.c_str(), (place + log_end).c_str());
    const int out = open((place + status_end).c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (out >= 0) {
      dprintf(out, "%d\n", status);
      close(out);
    }
  }
  close(file);
  return outcome;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("usage: meantime-queue FOLDER\n", stderr);
    return 2;
  }
  const std::string folder = words[1];
  for (const char* const part : {"/done", "/failed"}) {
    struct stat status {};
    if (mkdir((folder + part).c_str(), 0755) != 0 && errno != EEXIST) {
      return complain(folder + part, std::strerror(errno));
    }
    if (lstat((folder + part).c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
      return complain(folder + part, "it is no folder");
    }
    if (const char* const why = refusal(status)) {
      return complain(folder + part, why);
    }
  }
  struct sigaction ending {};
  ending.sa_handler = end;
  sigaction(SIGINT, &ending, nullptr);
  sigaction(SIGTERM, &ending, nullptr);
  unsigned long units = 0;
  while (!told_to_end) {
    const unsigned long before = units;
    for (const std::string& name : entries(folder)) {
      const Outcome outcome = told_to_end ? Outcome::not_ours : run(folder, name);
      if (outcome == Outcome::broken) {
        return 1;
      }
      units += outcome == Outcome::ended ? 1 : 0;
    }
    if (units == before && !told_to_end) {
      nanosleep(&pause_between_looks, nullptr);
    }
  }
  std::printf("units %lu\n", units);
  return 0;
}
