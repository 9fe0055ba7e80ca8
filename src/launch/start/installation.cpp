#include "launch/start/installation.h"

#include <limits.h>
#include <unistd.h>

namespace meantime::launch {

std::string prefix() {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) {
    return {};
  }
  std::string text(path, static_cast<std::size_t>(length));
  text.resize(text.find_last_of('/'));
  constexpr std::string_view ours = "/libexec/meantime";
  if (text.ends_with(ours)) {
    text.resize(text.size() - ours.size() + 1);
  } else {
    text.resize(text.find_last_of('/') + 1);  // without bin
  }
  return text.size() > 1 ? text.substr(0, text.size() - 1) : text;
}

std::string library_folder() {
  // lib/meantime holds nothing but links to our libraries, so that putting it in front of
  // LD_LIBRARY_PATH changes no other library of the program; a build tree has only lib.
  for (const char* folder : {"/lib/meantime", "/lib"}) {
    std::string path = prefix() + folder;
    if (access((path + "/" + std::string(library_file_name)).c_str(), R_OK) == 0) {
      return path;
    }
  }
  return {};
}

std::string with_our_libraries(const std::string& library_path) {
  const std::string ours = library_folder();
  return ours.empty() || library_path.empty() ? ours + library_path : ours + ":" + library_path;
}

std::string debugger_script() {
  std::string path = prefix() + "/share/meantime/gdb/meantime.py";
  return access(path.c_str(), R_OK) == 0 ? path : std::string();
}

namespace {

std::string own_program(const char* name) {
  std::string path = prefix() + "/libexec/meantime/" + name;
  return access(path.c_str(), X_OK) == 0 ? path : std::string();
}

}  // namespace

std::string host_program() {
  return own_program("meantime-host");
}

std::string guest_keeper() {
  return own_program("meantime-guests");
}

}  // namespace meantime::launch
