// The hints of communicators (MPI 5.0 7.4.4): assertions that the user makes. They are kept and
// shown; nothing relies on them yet.
#include <algorithm>
#include <iterator>

#include "core/communicator_make.h"
#include "core/info.h"

namespace meantime::core {
namespace {

constexpr const char* assertions[] = {
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
};

}  // namespace

void set_hints(Communicator& comm, const Info* info) {
  if (info == nullptr) {
    return;
  }
  for (const char* assertion : assertions) {
    const std::string* value = info->find(assertion);
    if (value != nullptr && (*value == "true" || *value == "false")) {
      if (comm.info == nullptr) {
        comm.info = new Info;
      }
      comm.info->set(assertion, *value);
    }
  }
}

Info* visible_hints(const Communicator& comm) {
  Info* info = new Info;
  for (const char* assertion : assertions) {
    const std::string* value = comm.info != nullptr ? comm.info->find(assertion) : nullptr;
    info->set(assertion, value != nullptr ? *value : "false");
  }
  return info;
}

}  // namespace meantime::core
