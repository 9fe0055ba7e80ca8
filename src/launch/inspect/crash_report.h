// What a host tells of a rank's crash, as people read it.
#pragma once

#include <string>
#include <string_view>

namespace meantime::launch {

/// Each frame "#1 /home/me/solver+0x1234 (main+0x56)" as "#1 solver+0x1234 (main+0x56,
/// solver.c:12)", C++ names made readable. A host gives a file's path where it is not the one of
/// the frame before, for it may be gone by now, and its memory map with it. Where there is no debug
/// info, or addr2line does not tell in so many seconds, there is no line.
std::string readable_crash(std::string_view text, double seconds);

}  // namespace meantime::launch
