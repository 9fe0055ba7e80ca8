// A child process that stops this one and lets it go on. By a shell: programs that fork cannot be
// thread ranks, and these are run as such, too.
#pragma once

#include <spawn.h>
#include <unistd.h>

#include <string>

extern char** environ;

/// Its pid, or -1.
inline pid_t stop_me(const char* after_seconds, int for_seconds) {
  const std::string me = std::to_string(getpid());
  std::string text = std::string("sleep ") + after_seconds + "; kill -STOP " + me + "; sleep " +
                     std::to_string(for_seconds) + "; kill -CONT " + me;
  char shell[] = "sh", option[] = "-c";
  char* words[] = {shell, option, text.data(), nullptr};
  pid_t child = -1;
  return posix_spawn(&child, "/bin/sh", nullptr, nullptr, words, environ) == 0 ? child : -1;
}
