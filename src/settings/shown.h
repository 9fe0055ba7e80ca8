// What somebody else wrote, as a message about it quotes it: one line, however long it is and
// whatever is in it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace meantime::settings {

/// Enough to know one's own words by.
inline constexpr std::size_t longest_shown = 60;
/// Of a path the end matters.
inline constexpr std::size_t longest_path_shown = 1000;

/// The first characters (UTF-8) of a text, with "…" behind them if there were more; '?' for what
/// would begin a line or move the cursor.
inline std::string shown(std::string_view text, std::size_t longest = longest_shown) {
  std::string result;
  std::size_t characters = 0;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool continues = (byte & 0xc0) == 0x80;
    // Four bytes are a character at most, also of what is no UTF-8.
    if ((!continues && characters == longest) || result.size() == 4 * longest) {
      return result + "…";
    }
    characters += continues ? 0 : 1;
    if (byte >= 0x80 && byte < 0xa0 && result.ends_with('\xc2')) {
      result.back() = '?';  // U+0080 to U+009F; some terminals take U+009B for ESC [
      continue;
    }
    result += byte < 0x20 || byte == 0x7f ? '?' : letter;
  }
  return result;
}

inline std::string shown_path(std::string_view path) {
  return shown(path, longest_path_shown);
}

}  // namespace meantime::settings
