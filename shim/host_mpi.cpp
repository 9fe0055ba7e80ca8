#include "shim/host_mpi.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace meantime::shim {
namespace {

constexpr const char* libraries[] = {"libmpi.so.40", "libmpi_abi.so.1", "libmpich.so.12",
                                     "libmpi.so.12"};

/// The first of them that is loaded, be it by an interpreter's module.
void* library() {
  static void* const found = []() -> void* {
    for (const char* name : libraries) {
      if (void* const handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) {
        return handle;
      }
    }
    return nullptr;
  }();
  return found;
}

Handle number(std::uintptr_t value) {
  return reinterpret_cast<Handle>(value);
}

bool is_pointers = true;

const Constants* find_constants() {
  static Constants found;
  if (host_function("ompi_mpi_comm_world") != nullptr) {
    // What a program has of Open MPI's data may be a copy in the program: whoever is first counts.
    const auto data = [](const char* name) {
      void* const first = dlsym(RTLD_DEFAULT, name);
      return first != nullptr ? first : host_function(name);
    };
    found = {data("ompi_mpi_comm_world"), data("ompi_mpi_comm_null"), data("ompi_mpi_int"),
             data("ompi_mpi_op_min"), -2};
    return &found;
  }
  Dl_info about{};
  void* const init = host_function("PMPI_Init");
  if (init == nullptr || dladdr(init, &about) == 0 || about.dli_fname == nullptr) {
    return nullptr;
  }
  const char* const slash = std::strrchr(about.dli_fname, '/');
  const char* const file = slash != nullptr ? slash + 1 : about.dli_fname;
  if (std::strncmp(file, "libmpi_abi.", 11) == 0) {
    found = {number(0x101), number(0x100), number(0x209), number(0x22), -3};
    return &found;
  }
  if (std::strncmp(file, "libmpich.", 9) == 0 || std::strncmp(file, "libmpi.so.12", 12) == 0) {
    is_pointers = false;
    found = {number(0x44000000), number(0x04000000), number(0x4c000405), number(0x58000002), -1};
    return &found;
  }
  return nullptr;
}

}  // namespace

void* host_function(const char* name) {
  return library() != nullptr ? dlsym(library(), name) : nullptr;
}

void* needed_function(const char* name) {
  void* const found = host_function(name);
  if (found == nullptr) {
    std::fprintf(stderr, "meantime steal: this MPI has no %s\n", name);
    _exit(1);
  }
  return found;
}

const Constants* constants() {
  static const Constants* const found = find_constants();
  return found;
}

bool is(Handle handle, Handle constant) {
  constexpr std::uintptr_t lower_half = 0xffffffff;
  const auto bits = reinterpret_cast<std::uintptr_t>(handle);
  const auto wanted = reinterpret_cast<std::uintptr_t>(constant);
  return is_pointers ? bits == wanted : (bits & lower_half) == wanted;
}

}  // namespace meantime::shim
