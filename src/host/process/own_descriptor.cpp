#include "host/process/own_descriptor.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "host/process/descriptor_places.h"
#include "host/process/rank_state.h"

namespace meantime::host {

int own_descriptor(int number) {
  return mine() != nullptr ? mine()->descriptors.place_of(number) : number;
}

int own_new(int place) {
  if (place < 0) {
    return place;
  }
  if (mine() == nullptr) {
    set_owner(place, behind);
    return place;
  }
  const int error = errno;
  const int number = mine()->descriptors.take(place);
  errno = error;
  return number;
}

int own_number(int place) {
  return mine() != nullptr && place >= 0 ? mine()->descriptors.number_of(place) : place;
}

void forget_own(int number) {
  if (mine() != nullptr) {
    mine()->descriptors.forget(number);
  } else if (number >= 0) {
    set_owner(number, nobody);
  }
}

void keep_for_host(int place) {
  if (place >= 0) {
    set_owner(place, hosts);
  }
}

void close_for_host(int place) {
  set_owner(place, nobody);
  raw_close(place);
}

namespace {

/// What follows "/proc/self/", or the same by other words; nullptr if it is about anything else.
const char* of_this_process(const char* path) {
  if (std::strncmp(path, "/proc/", 6) != 0) {
    return nullptr;
  }
  const char* const whose = path + 6;
  for (const char* each : {"self/", "thread-self/"}) {
    if (std::strncmp(whose, each, std::strlen(each)) == 0) {
      return whose + std::strlen(each);
    }
  }
  char* end = nullptr;
  return *whose >= '1' && *whose <= '9' && std::strtol(whose, &end, 10) == getpid() && *end == '/'
             ? end + 1
             : nullptr;
}

}  // namespace

const char* own_program(const char* path) {
  if (mine() == nullptr || path == nullptr || path[0] != '/' || path[1] != 'p') {
    return path;
  }
  const char* const rest = of_this_process(path);
  return rest != nullptr && std::strcmp(rest, "exe") == 0 ? mine()->program->file.c_str() : path;
}

const char* own_path(const char* path, char (&room)[32]) {
  if (const char* const program = own_program(path); program != path) {
    return program;
  }
  if (mine() == nullptr || path == nullptr ||
      (std::strncmp(path, "/dev/", 5) != 0 && std::strncmp(path, "/proc/self/fd/", 14) != 0)) {
    return path;
  }
  int number = -1;
  if (std::strcmp(path, "/dev/stdin") == 0) {
    number = 0;
  } else if (std::strcmp(path, "/dev/stdout") == 0) {
    number = 1;
  } else if (std::strcmp(path, "/dev/stderr") == 0) {
    number = 2;
  } else if (const char* const digits = std::strncmp(path, "/dev/fd/", 8) == 0 ? path + 8
                                        : path[1] == 'p'                       ? path + 14
                                                                               : "";
             *digits >= '0' && *digits <= '9') {
    char* end = nullptr;
    const long value = std::strtol(digits, &end, 10);
    number = *end == '\0' && value < most_places ? static_cast<int>(value) : -1;
  }
  if (number < 0) {
    return path;
  }
  std::snprintf(room, sizeof room, "/proc/self/fd/%d", own_descriptor(number));
  return room;
}

}  // namespace meantime::host
