// Which libraries of a thread rank's program are its own.
//   private   every rank has a copy, with its own data
//   shared    one for the host: libc, libm, the run-time linker, libgcc_s, libmpi_abi
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace meantime::launch {

inline constexpr std::string_view shared_libraries[] = {
    "ld-linux",  "libc.so.", "libm.so.",   "libmvec.so.", "libpthread.so.", "libdl.so.",
    "librt.so.", "libutil.", "libresolv.", "libgcc_s.so", "libmpi_abi.so.", "libanl.so."};

inline bool is_our_library(const std::string& name) {
  return std::string_view(name).substr(name.rfind('/') + 1).starts_with("libmpi_abi.so.");
}

inline bool is_private_library(const std::string& name) {
  const std::string_view last = std::string_view(name).substr(name.rfind('/') + 1);
  return std::none_of(std::begin(shared_libraries), std::end(shared_libraries),
                      [&](std::string_view shared) { return last.starts_with(shared); });
}

}  // namespace meantime::launch
