// How lists and messages look on a terminal: no line is longer than it is wide, and what people
// look for first is in colour. What is read by a program, or kept in a file, has its lines as they
// are, without colour: a log is searched by line.
//   page   what a text is written on
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace meantime::settings {

struct Page {
  std::size_t columns = 0;  ///< 0: lines are as long as they like
  bool colour = false;
};

/// Of a table, and of help, where there is no terminal.
inline constexpr std::size_t usual_columns = 80;

/// What is behind a descriptor. Colour: on a terminal, unless NO_COLOR is set or TERM is "dumb".
Page page_of(int descriptor);

/// A text of several lines, whatever is in it (shown_lines), as the page has it: a line that is too
/// long goes on in the next one, four columns to the right.
std::string laid_out(std::string_view text, const Page& page);

/// Help as it is written, for 80 columns, as the page has it: filled anew, with headings and
/// options in colour. A heading stands right above its options, which are indented by two and
/// described from `column` on. Without a terminal: as it is written.
std::string help_laid_out(std::string_view help, std::size_t column, const Page& page);

}  // namespace meantime::settings
