#include "launch/json.h"

#include <fmt/format.h>

#include <algorithm>

namespace meantime::launch {
namespace {

/// The bytes of the UTF-8 character that begins there; 0 if none does.
std::size_t utf8_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xc2 && first < 0xe0 ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || length > text.size()) {
    return 0;
  }
  for (std::size_t place = 1; place < length; ++place) {
    if ((static_cast<unsigned char>(text[place]) & 0xc0) != 0x80) {
      return 0;
    }
  }
  return length;
}

}  // namespace

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (std::size_t place = 0; place < text.size();) {
    const std::size_t length = utf8_length(std::string_view(text).substr(place));
    if (length != 1) {
      result += length == 0 ? "\\ufffd" : text.substr(place, length);
      place += std::max<std::size_t>(length, 1);
      continue;
    }
    const char letter = text[place++];
    if (letter == '"' || letter == '\\') {
      result += '\\';
      result += letter;
    } else if (static_cast<unsigned char>(letter) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(letter));
    } else {
      result += letter;
    }
  }
  return result + '"';
}

}  // namespace meantime::launch
