// Where this Meantime is installed, from the place of the running command: the tree can be moved.
#pragma once

#include <string>
#include <string_view>

namespace meantime::launch {

inline constexpr std::string_view library_file_name = "libmpi_abi.so.1";

/// The folder above bin/ or libexec/; empty if the kernel does not tell.
std::string prefix();

/// The folder with our libmpi_abi.so.1; empty if there is none.
std::string library_folder();

/// A list of folders for LD_LIBRARY_PATH with that one before the others, as ranks get it.
std::string with_our_libraries(const std::string& library_path);

/// The program that carries thread ranks; empty if this installation has none.
std::string host_program();

/// The program that keeps guests; empty if this installation has none.
std::string guest_keeper();

/// What makes gdb know thread ranks; empty if it is not there.
std::string debugger_script();

}  // namespace meantime::launch
