#include "core/error/blame.h"

#include <utility>

#include "core/comm/communicator.h"

namespace meantime {
namespace {

thread_local Communicator* blamed = nullptr;  // a reference is held

}  // namespace

void blame(Communicator* comm) {
  if (comm != nullptr) {
    hold(*comm);
  }
  drop(std::exchange(blamed, comm));
}

Communicator* take_blamed() {
  return std::exchange(blamed, nullptr);
}

}  // namespace meantime
