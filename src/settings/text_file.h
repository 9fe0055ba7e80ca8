// Small text files that users name, read whole: whatever is behind the name, it does not block,
// does not end never and does not fill the memory.
#pragma once

#include <string>

namespace meantime::settings {

/// What is wrong with it ("No such file or directory", "it is not a regular file", ...), or empty
/// and the file's text.
std::string read_text_file(const std::string& path, std::string* text);

/// No list of settings, hosts or workers is longer.
inline constexpr std::size_t longest_text_file = 1 << 20;

}  // namespace meantime::settings
