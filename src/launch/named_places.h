// Lists of what ranks do (wait/report.h) and the lines of those that give up (core/errhandler.h),
// with the places in them as people know them. A rank writes "called from solver+0x1234", for it
// reads no debug info; mpiexec has the time, and a program without mpiexec once it goes no further.
#pragma once

#include <string>

namespace meantime::launch {

/// The same text with "called from main (solver.c:12)" for each such place that can be named. Looks
/// at the memory maps of the processes, which must be there still: that of the "(pid 17" before it
/// in its line, or else `pid`.
std::string with_named_places(const std::string& text, int pid = 0);

}  // namespace meantime::launch
