#include "settings/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "settings/shown.h"

namespace meantime::settings {
namespace {

constexpr std::size_t narrowest = 40;
constexpr std::size_t hanging_indent = 4;

constexpr std::string_view bold = "\033[1m";
constexpr std::string_view cyan = "\033[36m";
constexpr std::string_view green = "\033[32m";
constexpr std::string_view plain = "\033[0m";

/// How many columns a text takes, as far as each character takes one.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xc0) != 0x80; }));
}

/// Where the `columns`th character begins, or the end.
std::size_t byte_at(std::string_view text, std::size_t columns) {
  std::size_t byte = 0;
  for (; byte < text.size() && columns > 0; --columns) {
    byte += std::max<std::size_t>(utf8_length(text.substr(byte)), 1);
  }
  return byte;
}

template <class OfLine>
std::string by_line(std::string_view text, OfLine&& of_line) {
  std::string result;
  for (;;) {
    const std::size_t end = text.find('\n');
    result += of_line(text.substr(0, end));
    if (end == std::string_view::npos) {
      return result;
    }
    result += '\n';
    text.remove_prefix(end + 1);
  }
}

/// One line. Breaks at blanks; a word that is longer than a line is cut.
std::string wrapped(std::string_view line, std::size_t columns) {
  const std::size_t indent = std::min(line.find_first_not_of(' '), columns / 4) + hanging_indent;
  std::string result;
  std::string rest(line);
  while (width_of(rest) > columns) {
    std::size_t end = rest.rfind(' ', byte_at(rest, columns));
    if (end == std::string::npos || end <= rest.find_first_not_of(' ')) {
      end = byte_at(rest, columns);
    }
    result.append(rest, 0, rest.find_last_not_of(' ', end - 1) + 1).append(1, '\n');
    const std::size_t next = rest.find_first_not_of(' ', end);
    rest = next == std::string::npos ? "" : std::string(indent, ' ') + rest.substr(next);
  }
  return rest.empty() && !result.empty() ? result.substr(0, result.size() - 1) : result + rest;
}

/// What a line begins with that says who speaks, or of whom: "mpiexec:", "  rank 3", "  ranks 4-7",
/// "MEANTIME_WAIT".
std::size_t length_of_head(std::string_view line) {
  for (const std::string_view name : {"mpiexec:", "meantime:", "Meantime:"}) {
    if (line.starts_with(name)) {
      return name.size();
    }
  }
  if (line.starts_with("MEANTIME_")) {
    return std::min(line.find(' '), line.size());
  }
  if (!line.starts_with("  rank")) {
    return 0;
  }
  const std::size_t number = line.find_first_of("0123456789");
  return std::min(line.find_first_not_of("0123456789-, ", number), line.size());
}

/// Of the word at `begin`: how it is to look; empty for most.
std::string_view colour_of(std::string_view word) {
  const std::size_t name = word.starts_with("MPI_") ? 4 : word.starts_with("MPIX_") ? 5 : 0;
  if (name != 0 && name + 1 < word.size() && word[name + 1] >= 'a') {
    return cyan;  // a call, not a constant
  }
  // "(stencil.c:59)"
  const std::size_t colon = word.rfind(':');
  const bool is_place = word.starts_with('(') && colon != std::string_view::npos &&
                        colon + 1 < word.size() && word[colon + 1] >= '0' && word[colon + 1] <= '9';
  return is_place ? green : std::string_view();
}

std::string coloured(std::string_view line) {
  std::string result;
  if (const std::size_t head = length_of_head(line); head != 0) {
    result.append(bold).append(line.substr(0, head)).append(plain);
    line.remove_prefix(head);
  }
  while (!line.empty()) {
    const std::size_t end = std::min(line.find_first_of(" ,;", 1), line.size());
    const std::string_view word = line.substr(0, end);
    const std::string_view colour = colour_of(word);
    result.append(colour).append(word).append(colour.empty() ? "" : plain);
    line.remove_prefix(end);
    const std::size_t blanks = std::min(line.find_first_not_of(" ,;"), line.size());
    result.append(line.substr(0, blanks));
    line.remove_prefix(blanks);
  }
  return result;
}

}  // namespace

Page page_of(int descriptor) {
  if (isatty(descriptor) == 0) {
    return {};
  }
  winsize size{};
  const bool known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return {std::max<std::size_t>(known ? size.ws_col : usual_columns, narrowest),
          (no_colour == nullptr || *no_colour == 0) && terminal != nullptr &&
              std::string_view(terminal) != "dumb"};
}

std::string laid_out(std::string_view text, const Page& page) {
  std::string result = shown_lines(text);
  if (page.columns != 0) {
    result =
        by_line(result, [&page](std::string_view line) { return wrapped(line, page.columns); });
  }
  return page.colour ? by_line(result, coloured) : result;
}

}  // namespace meantime::settings
