#include "launch/report/json.h"

#include <fmt/format.h>

#include <algorithm>

#include "settings/shown.h"

namespace meantime::launch {
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (std::size_t place = 0; place < text.size();) {
    const std::size_t length = settings::utf8_length(std::string_view(text).substr(place));
    if (length != 1) {
      // A report may go to a terminal (/dev/stdout).
      const std::string character = text.substr(place, length);
      const bool is_safe = length != 0 && !settings::is_control(character);
      result += is_safe ? character : "\\ufffd";
      place += std::max<std::size_t>(length, 1);
      continue;
    }
    const char letter = text[place++];
    if (letter == '"' || letter == '\\') {
      result += '\\';
      result += letter;
    } else if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(letter));
    } else {
      result += letter;
    }
  }
  return result + '"';
}

}  // namespace meantime::launch
