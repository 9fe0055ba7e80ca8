// Lists of what ranks do (deadlock/report.h) and the lines of those that give up
// (core/error/errhandler.h), with the addresses in them as people know them. A rank writes "called
// from solver+0x1234", for it reads no debug info; mpiexec has the time, and a program without
// mpiexec once it goes no further.
#pragma once

#include <string>
#include <vector>

#include "symbolize/source_location.h"

namespace meantime::launch {

/// The same text with "called from main (solver.c:12)" for each such address that can be named.
/// Looks at the memory maps of the processes, which must be there still: that of the "(pid 17"
/// before it in its line, or else `pid`.
std::string symbolized(const std::string& text, int pid = 0);

/// The same in two steps: only the first one looks at the processes, only the second one takes
/// time.
class UnsymbolizedText {
 public:
  explicit UnsymbolizedText(std::string text, int pid = 0);
  /// What has no name after so many seconds stays without.
  [[nodiscard]] std::string named(double seconds) const;

 private:
  /// An address in the text: from `begin` to `end` there is "module+0x1234".
  struct Mention {
    std::size_t begin = 0;
    std::size_t end = 0;
    CodeAddress address;
  };

  std::string text_;
  std::vector<Mention> mentions_;
};

}  // namespace meantime::launch
