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

/// Meantime itself was built with a sanitizer, which then watches hosts, too, and programs that
/// were built with the same one may be in them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    defined(MEANTIME_THREAD_SANITIZER)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif
inline constexpr std::string_view sanitizer_libraries[] = {"libasan.so.", "libubsan.so.",
                                                           "libtsan.so."};

inline bool is_our_library(const std::string& name) {
  return std::string_view(name).substr(name.rfind('/') + 1).starts_with("libmpi_abi.so.");
}

/// libmeantime_gfortran: each rank has a copy, and it imports all of MPI, whatever the program
/// calls.
inline bool is_binding_of_ours(const std::string& name) {
  return std::string_view(name).substr(name.rfind('/') + 1).starts_with("libmeantime_");
}

inline bool is_private_library(const std::string& name) {
  const std::string_view last = std::string_view(name).substr(name.rfind('/') + 1);
  const auto begins_as = [&](std::string_view shared) { return last.starts_with(shared); };
  return std::none_of(std::begin(shared_libraries), std::end(shared_libraries), begins_as) &&
         !(is_sanitized &&
           std::any_of(std::begin(sanitizer_libraries), std::end(sanitizer_libraries), begins_as));
}

}  // namespace meantime::launch
