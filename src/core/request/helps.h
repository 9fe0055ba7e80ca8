// When the helper (core/request/helper.h) takes in what comes for ranks that compute.
#pragma once

#include <cstdint>

namespace meantime::core {

enum class Helps : std::uint8_t {
  never,
  if_cpus_are_idle,  ///< which it knows from how long it waits for one
  always,
};

}  // namespace meantime::core
