// How calls of the tools interface hand out texts (MPI 5.0, 15.3.3).
#pragma once

#include <cstring>
#include <string_view>

namespace meantime::tool {

/// Copies as much of `text` as fits into `buffer` of `*length` characters, ended by a 0, and sets
/// `*length` to what all of it needs with that 0. No buffer or no room: only the length is told; no
/// length: nothing is.
inline void give_text(std::string_view text, char* buffer, int* length) {
  if (length == nullptr) {
    return;
  }
  if (buffer != nullptr && *length > 0) {
    const auto room = static_cast<std::size_t>(*length - 1);
    buffer[text.copy(buffer, room)] = '\0';
  }
  *length = static_cast<int>(text.size()) + 1;
}

/// Stores a result that the caller may not want.
template <class T>
void give(T value, T* place) {
  if (place != nullptr) {
    *place = value;
  }
}

}  // namespace meantime::tool
