// What a program asks about the library, the machine and the errors, and the little helpers:
// versions, time, memory, addresses.
#include <mpi.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "api/generated/calls.h"
#include "base/clock.h"
#include "base/version.h"
#include "core/error/error.h"
#include "core/error/error_codes.h"
#include "core/error/handled_error.h"
#include "core/object/tables.h"
#include "core/topology/hardware.h"
#include "rank/rank.h"
#include "rank/rank_of_thread.h"

namespace meantime::api {
namespace {

/// Copies to a user's array of `limit` bytes, cut to fit.
void give_string(std::string_view text, int limit, char* string, int* length) {
  const std::size_t copied = std::min<std::size_t>(text.size(), limit - 1);
  std::memcpy(string, text.data(), copied);
  string[copied] = '\0';
  *length = static_cast<int>(copied);
}

}  // namespace

// --- Versions and names

int Get_version(int* version, int* subversion) {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return MPI_SUCCESS;
}

int Get_library_version(char* text, int* resultlen) {
  give_string(
      fmt::format("Meantime {} (MPI {}.{}, ABI {}.{}; {}, {})", version, MPI_VERSION,
                  MPI_SUBVERSION, MPI_ABI_VERSION, MPI_ABI_SUBVERSION, compiler, build_type),
      MPI_MAX_LIBRARY_VERSION_STRING, text, resultlen);
  return MPI_SUCCESS;
}

int Get_processor_name(char* name, int* resultlen) {
  char host[MPI_MAX_PROCESSOR_NAME] = "";
  if (gethostname(host, sizeof host - 1) != 0) {
    return fail(MPI_ERR_OTHER, "gethostname: {}", std::strerror(errno));
  }
  give_string(host, MPI_MAX_PROCESSOR_NAME, name, resultlen);
  return MPI_SUCCESS;
}

int Get_hw_resource_info(MPI_Info* hw_info) {
  auto* info = new Info;
  for (const core::Hardware& one : core::hardware(core::allowed_cpus())) {
    if (one.there) {
      info->set(fmt::format("{}{}", core::hardware_scheme, one.kind),
                one.instance >= 0 ? "true" : "false");
    }
  }
  *hw_info = info->handle();
  return MPI_SUCCESS;
}

// --- Is MPI up, and with which threads

int Initialized(int* flag) {
  *flag = rank_of_thread().world_initialized ? 1 : 0;
  return MPI_SUCCESS;
}

int Finalized(int* flag) {
  *flag = rank_of_thread().world_finalized ? 1 : 0;
  return MPI_SUCCESS;
}

int Query_thread(int* provided) {
  *provided = rank_of_thread().thread_level;
  return MPI_SUCCESS;
}

int Is_thread_main(int* flag) {
  *flag = rank_of_thread().main_thread == pthread_self();
  return MPI_SUCCESS;
}

// --- Time: one clock for the node, so MPI_WTIME_IS_GLOBAL is true

double Wtime() {
  return now_seconds();
}

double Wtick() {
  timespec tick;
  clock_getres(CLOCK_MONOTONIC, &tick);
  return static_cast<double>(tick.tv_sec) + 1e-9 * static_cast<double>(tick.tv_nsec);
}

// --- Memory and addresses

int Alloc_mem(MPI_Aint size, Info* info, void* baseptr) {
  // A cache line's alignment suits every datatype; the info's hints say nothing more
  // (MPI 5.0, 9.2).
  void* memory = std::aligned_alloc(64, (static_cast<std::size_t>(size) + 63) / 64 * 64);
  if (memory == nullptr && size > 0) {
    return fail(MPI_ERR_NO_MEM, "no memory for {} bytes", size);
  }
  std::memcpy(baseptr, &memory, sizeof memory);
  return MPI_SUCCESS;
}

int Free_mem(void* base) {
  std::free(base);
  return MPI_SUCCESS;
}

int Get_address(const void* location, MPI_Aint* address) {
  *address = reinterpret_cast<MPI_Aint>(location);
  return MPI_SUCCESS;
}

// Unsigned, because addresses may wrap where signed integers may not.
MPI_Aint Aint_add(MPI_Aint base, MPI_Aint disp) {
  return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(base) +
                               static_cast<std::uintptr_t>(disp));
}

MPI_Aint Aint_diff(MPI_Aint addr1, MPI_Aint addr2) {
  return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(addr1) -
                               static_cast<std::uintptr_t>(addr2));
}

// --- Errors

int Error_class(int errorcode, int* errorclass) {
  if (!core::is_error_code(errorcode)) {
    return fail(MPI_ERR_ARG, "{} is no error code", errorcode);
  }
  *errorclass = core::error_class(errorcode);
  return MPI_SUCCESS;
}

int Error_string(int errorcode, char* string, int* resultlen) {
  if (!core::is_error_code(errorcode)) {
    return fail(MPI_ERR_ARG, "{} is no error code", errorcode);
  }
  const std::string_view name = core::error_name(errorcode);
  const std::string_view text = core::error_text(errorcode);
  const std::string last = core::handled_error(errorcode);
  give_string(fmt::format("{}{}{}{}{}", name, name.empty() ? "" : ": ", text,
                          last.empty() ? "" : "; last in ", last),
              MPI_MAX_ERROR_STRING, string, resultlen);
  return MPI_SUCCESS;
}

int Add_error_class(int* errorclass) {
  return core::add_error_class(errorclass);
}

int Add_error_code(int errorclass, int* errorcode) {
  return core::add_error_code(errorclass, errorcode);
}

int Add_error_string(int errorcode, const char* string) {
  return core::add_error_string(errorcode, string);
}

int Remove_error_class(int errorclass) {
  return core::remove_error_class(errorclass);
}

int Remove_error_code(int errorcode) {
  return core::remove_error_code(errorcode);
}

int Remove_error_string(int errorcode) {
  return core::remove_error_string(errorcode);
}

// --- Profiling

int Pcontrol(const int level) {
  return MPI_SUCCESS;  // for tools that put themselves in between (MPI 5.0, 15.2.4)
}

}  // namespace meantime::api
