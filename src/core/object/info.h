// An info: key/value strings in the order in which they were first set.
// Belongs to the rank that made it.
#pragma once

#include <mpi.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/object/object.h"

namespace meantime {

struct Info : Object {
  static constexpr Kind object_kind = Kind::info;
  Info() : Object(Kind::info) {}
  ~Info() = default;

  std::vector<std::pair<std::string, std::string>> entries;
  bool read_only = false;             ///< MPI_INFO_ENV
  MPI_Info constant = MPI_INFO_NULL;  ///< of MPI_INFO_ENV

  const std::string* find(std::string_view key) const;
  void set(std::string_view key, std::string_view value);
  bool remove(std::string_view key);

  MPI_Info handle() {
    return constant != MPI_INFO_NULL ? constant : reinterpret_cast<MPI_Info>(this);
  }
};

inline Info* hold(Info& info) {
  info.retain();
  return &info;
}
inline void drop(Info* info) {
  if (info != nullptr && info->release()) {
    delete info;
  }
}

namespace core {

/// A copy that the caller owns; of nullptr an empty one.
Info* duplicate(const Info* info);
/// What MPI_INFO_ENV says (MPI 5.0 11.2.1): as far as the system and the launcher tell, for a
/// program that was started as `arguments`; empty = look it up. No
/// thread_level, because no launcher of ours is told one.
Info* make_environment_info(const std::vector<std::string>& arguments);

}  // namespace core
}  // namespace meantime
