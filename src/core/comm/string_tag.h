// String tags of MPI_Comm_create_from_group and its kin as numbers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "core/comm/group.h"
#include "core/comm/tag_ranges.h"

namespace meantime::core {

/// A number from 0 to highest_user_tag that all who call with the same string and groups get,
/// whichever order the groups are in. Makings at the same time by overlapping groups meet in it
/// only by an accident of 1 in 2^29.
inline int hash_tag(std::string_view text, std::initializer_list<const Group*> groups) {
  constexpr std::uint64_t prime = 0x100000001b3;  // FNV-1a
  constexpr std::uint64_t start = 0xcbf29ce484222325;
  std::uint64_t hash = start;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * prime;
  }
  std::uint64_t members = 0;
  for (const Group* group : groups) {
    std::uint64_t list = start;
    for (int member = 0; member < group->size; ++member) {
      list = (list ^ static_cast<std::uint64_t>(group->world_rank(member))) * prime;
    }
    members += list;
  }
  hash = (hash ^ members) * prime;
  return static_cast<int>((hash ^ (hash >> 32)) & highest_user_tag);
}

}  // namespace meantime::core
