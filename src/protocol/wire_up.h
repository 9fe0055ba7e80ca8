// The wire-up program (task.h) for who starts it: a conversation in lines.
#pragma once

#include <sys/types.h>

#include <string>

namespace meantime::launch {

class WireUp {
 public:
  WireUp() = default;
  /// Waits for its end.
  ~WireUp();
  WireUp(const WireUp&) = delete;
  WireUp& operator=(const WireUp&) = delete;

  /// `use`: its second word; nullptr: none. Empty, or what is wrong.
  std::string start(const std::string& program, const char* use = nullptr);
  /// One that has ended is found by its silence.
  void say(const std::string& line) const;
  /// Without its end; empty: it has ended.
  std::string hear_line();

 private:
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
  std::string heard_;
};

}  // namespace meantime::launch
