#include "core/error/error_attribution.h"

#include <utility>

#include "core/comm/communicator.h"

namespace meantime {
namespace {

thread_local Communicator* attributed = nullptr;  // a reference is held

}  // namespace

void attribute_error(Communicator* comm) {
  if (comm != nullptr) {
    hold(*comm);
  }
  drop(std::exchange(attributed, comm));
}

Communicator* take_attribution() {
  return std::exchange(attributed, nullptr);
}

}  // namespace meantime
