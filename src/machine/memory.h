// How much memory a job may use: a container's limit, or the machine's. And whether it was too
// little.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace meantime::machine {

/// The folders of this process's control groups that limit `controller`, one of v1 or v2, from the
/// root to its own: limits hold for a group and all below it. In a container the path may not exist
/// below its mount; then only the mount's root is left to ask.
void for_each_group(std::string_view controller,
                    const std::function<void(const std::string& folder, bool v2)>& look);

/// Bytes: the least of the machine's and what the groups allow.
std::uint64_t usable_memory();

/// A number that grows whenever the kernel kills a process of this one's groups for want of memory.
std::uint64_t out_of_memory_kills();

}  // namespace meantime::machine
