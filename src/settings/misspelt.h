// Environment variables that look like Meantime's and mean nothing: a setting that is misspelt has
// no effect, and nobody would notice.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace meantime::settings {

/// Edits (insert, drop, replace, swap neighbours) between two short words.
std::size_t slips(std::string_view left, std::string_view right);

/// One line that names each MEANTIME_... among `names` that nobody reads, with the setting that may
/// be meant; empty if there is none.
std::string unknown_variables(const std::vector<std::string>& names);

/// The names in this process's environment.
std::vector<std::string> own_names();

}  // namespace meantime::settings
