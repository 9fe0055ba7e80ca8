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
/// Of what has been shortened already, or must not be.
inline constexpr std::size_t any_length = std::string_view::npos;

/// The bytes of the UTF-8 character that `text` begins with; 0 if it begins with none.
inline std::size_t utf8_length(std::string_view text) {
  const auto byte = [&text](std::size_t place) { return static_cast<unsigned char>(text[place]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xc2 && first < 0xe0 ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || length > text.size()) {
    return 0;
  }
  for (std::size_t place = 1; place < length; ++place) {
    if ((byte(place) & 0xc0) != 0x80) {
      return 0;
    }
  }
  // More bytes than it takes: a way to hide another character.
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  // UTF-16's surrogates, and beyond U+10FFFF: no characters.
  const bool none = (first == 0xed && byte(1) >= 0xa0) || (first == 0xf4 && byte(1) >= 0x90);
  return overlong || none ? 0 : length;
}

/// True for U+0000 to U+001F and U+007F to U+009F (some terminals take U+009B for ESC [), and for
/// what turns the direction in which the rest of a line is read (U+202A to U+202E, U+2066 to
/// U+2069).
inline bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  return first < 0x20 || first == 0x7f ||
         (first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0) ||
         (character >= "\u202a" && character <= "\u202e") ||
         (character >= "\u2066" && character <= "\u2069");
}

/// The first characters (UTF-8) of a text, with "…" behind them if there were more; '?' for what
/// would begin a line or move the cursor, and for each byte of what is no UTF-8.
inline std::string shown(std::string_view text, std::size_t longest = longest_shown) {
  std::string result;
  for (std::size_t characters = 0; !text.empty(); ++characters) {
    if (characters == longest) {
      return result + "…";
    }
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    result += length == 0 || is_control(character) ? "?" : character;
    text.remove_prefix(character.size());
  }
  return result;
}

/// The same for a text of several lines, which may be as long as they like.
inline std::string shown_lines(std::string_view text) {
  std::string result;
  for (;;) {
    const std::size_t end = text.find('\n');
    result += shown(text.substr(0, end), any_length);
    if (end == std::string_view::npos) {
      return result;
    }
    result += '\n';
    text.remove_prefix(end + 1);
  }
}

inline std::string shown_path(std::string_view path) {
  return shown(path, longest_path_shown);
}

}  // namespace meantime::settings
