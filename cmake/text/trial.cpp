// Links only if text.cpp fits this version of fmt. Uses every kind of formatting that has a part in fmt's library.
#include <fmt/format.h>

int main(int count, char** words) {
  std::string text = fmt::format("{} {:>{}} {:.3f} {} {:L} {:x} {}", words[0], "right", count, 2.5 * count,
                                 1.5F, 1234567, count, static_cast<void*>(words));
  fmt::print(stderr, "{} {}\n", text, 1.0L);
  fmt::format_to(std::back_inserter(text), fmt::runtime("{}"), count);
  return text.empty() ? 1 : 0;
}
