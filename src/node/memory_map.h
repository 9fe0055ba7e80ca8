// What is mapped into a process, and which of it an address is in.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace meantime::node {

/// The memory map of a process (/proc/PID/maps), also of one whose main thread has ended.
std::ifstream memory_map(int pid);

/// "stencil+0x1234": the address is what addr2line wants, from the memory map of that process. As
/// "0x55d51234" where that cannot be read, or has nothing there.
std::string code_location(int pid, std::uint64_t address);

}  // namespace meantime::node
