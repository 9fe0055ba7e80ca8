#if __has_include(<ucp/api/ucp.h>)
#include "net/ucx.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <type_traits>

namespace meantime::net {
namespace {

/// The first needs the others; a symbol is looked for in all of them.
constexpr char library_name[] = "libucp.so.0";
/// For which UCX installs handlers.
constexpr char signals_variable[] = "UCX_ERROR_SIGNALS";

}  // namespace

std::string Ucx::load() {
  // Read when it is loaded: a crash is the program's own affair, or ours (core/error/crash.h).
  const bool said = std::getenv(signals_variable) != nullptr;
  setenv(signals_variable, "", 0);
  void* const library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (!said) {
    unsetenv(signals_variable);
  }
  if (library == nullptr) {
    return fmt::format(
        "the job has several nodes, which need UCX (Debian: apt install libucx0): {}", dlerror());
  }
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    missing = function == nullptr ? name : missing;
  };
#define MEANTIME_FIND(name) find(this->name, #name);
  MEANTIME_UCX_FUNCTIONS(MEANTIME_FIND)
#undef MEANTIME_FIND
  return missing == nullptr
             ? std::string()
             : fmt::format("{} lacks {}: UCX 1.13 or newer is needed", library_name, missing);
}

}  // namespace meantime::net
#endif
