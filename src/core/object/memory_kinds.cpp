#include "core/object/memory_kinds.h"

#include <sys/auxv.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/comm/communicator.h"
#include "core/request/buffered.h"
#include "protocol/control.h"

namespace meantime::core {
namespace {

constexpr std::string_view mpi_restrictors[] = {"alloc_mem", "win_allocate", "win_allocate_shared"};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = text.find(separator);
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? 0 : end + 1);
  }
  return parts;
}

/// "mpi:" and its restrictors, at least one.
bool is_restricted_mpi(std::string_view kind) {
  const std::vector<std::string_view> parts = split(kind, ':');
  return parts.size() > 1 && parts.front() == "mpi" &&
         std::all_of(parts.begin() + 1, parts.end(), [](std::string_view part) {
           return std::find(std::begin(mpi_restrictors), std::end(mpi_restrictors), part) !=
                  std::end(mpi_restrictors);
         });
}

}  // namespace

std::string supported_memory_kinds(std::string_view request) {
  std::string kinds = "mpi,system";
  for (const std::string_view kind : split(request, ',')) {
    if (is_restricted_mpi(kind)) {
      kinds.append(",").append(kind);
    }
  }
  return kinds;
}

const std::string& launchers_memory_kinds() {
  static const auto& request = *[] {
    const char* const given =
        getauxval(AT_SECURE) == 0 ? std::getenv(launch::memory_kinds_variable) : nullptr;
    return new std::string(given != nullptr ? given : "");
  }();
  return request;
}

std::string memory_kinds_of(const Communicator& comm) {
  return comm.session_buffer != nullptr ? comm.session_buffer->memory_kinds
                                        : supported_memory_kinds(launchers_memory_kinds());
}

}  // namespace meantime::core
