#include "settings/load_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include "settings/loaded_library.h"

namespace meantime::settings {

std::string load_library(const std::string& path, void** handle) {
  int descriptor = -1;
  if (std::string refusal = library_refusal(path, &descriptor); !refusal.empty()) {
    return refusal;
  }
  // By its descriptor: what is loaded is what was looked at. Under a name that is nobody else's: a
  // debugger that looks on opens it as its own, and its "/proc/self/fd/4" may be a pipe that it
  // would read for ever; and a program that loads by descriptors would be given our library.
  const std::string name = fmt::format("/proc/self/task/{}/fd/{}", getpid(), descriptor);
  *handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* wrong = *handle == nullptr ? dlerror() : nullptr;
  close(descriptor);
  return *handle != nullptr ? "" : wrong != nullptr ? wrong : "it cannot be loaded";
}

}  // namespace meantime::settings
