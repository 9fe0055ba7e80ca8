// By what a message and a receive find each other. A receive's may say MPI_ANY_SOURCE, MPI_ANY_TAG.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace meantime::match {

struct Envelope {
  std::uint32_t context = 0;
  std::int32_t source = 0;  ///< rank in the communicator
  std::int32_t tag = 0;

  Envelope& envelope() { return *this; }
  bool operator==(const Envelope&) const = default;
};

/// Whether a receive that says `wanted` takes such a message.
inline bool takes(const Envelope& wanted, const Envelope& message) {
  return wanted.context == message.context &&
         (wanted.source == message.source || wanted.source == MPI_ANY_SOURCE) &&
         (wanted.tag == message.tag || wanted.tag == MPI_ANY_TAG);
}

}  // namespace meantime::match
