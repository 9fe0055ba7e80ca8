// Copies of a user's message in the library's own memory.
#pragma once

#include <mpi.h>

#include <cstdlib>
#include <utility>

#include "core/datatype/datatype.h"

namespace meantime::core {

/// The packed stream of (buffer, count, type) in memory of its own.
class PackedCopy {
 public:
  PackedCopy(const void* buffer, MPI_Count count, const Datatype& type)
      : bytes_(count * type.size),
        data_(static_cast<char*>(std::malloc(bytes_ > 0 ? static_cast<std::size_t>(bytes_) : 1))) {
    if (data_ != nullptr) {
      pack(buffer, count, type, 0, data_, static_cast<std::size_t>(bytes_));
    }
  }
  ~PackedCopy() { std::free(data_); }
  PackedCopy(const PackedCopy&) = delete;
  PackedCopy& operator=(const PackedCopy&) = delete;

  /// nullptr when there was no memory.
  char* data() const { return data_; }
  MPI_Count bytes() const { return bytes_; }
  /// The memory becomes the caller's (free).
  char* release() { return std::exchange(data_, nullptr); }

 private:
  MPI_Count bytes_;
  char* data_;
};

}  // namespace meantime::core
