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
constexpr std::size_t widest_help = 120;  // longer lines are hard to read
constexpr std::size_t narrowest_description = 30;

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
    if (end != std::string::npos && end > 0 && rest.compare(end, 2, " %") == 0) {
      end = rest.rfind(' ', end - 1);  // a number keeps its unit
    }
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
/// "MEANTIME_WAIT". Of a table its head.
std::size_t length_of_head(std::string_view line) {
  for (const std::string_view name : {"mpiexec:", "meantime:", "Meantime:"}) {
    if (line.starts_with(name)) {
      return name.size();
    }
  }
  if (line.starts_with("MEANTIME_")) {
    return std::min(line.find(' '), line.size());
  }
  if (line.starts_with("  waits  ") || line.starts_with("worker  ")) {
    return line.size();  // a table's head
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

/// Words from column `at` on, in lines no longer than `columns`; those that follow are indented.
std::string filled(std::string_view words, std::size_t at, std::size_t indent,
                   std::size_t columns) {
  std::string result;
  bool begins = true;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    if (!begins && at + 1 + width_of(word) > columns) {
      result.append(1, '\n').append(indent, ' ');
      at = indent;
    } else if (!begins) {
      result += ' ';
      ++at;
    }
    result += word;
    at += width_of(word);
    begins = false;
    words.remove_prefix(std::min(words.find_first_not_of(' ', word.size()), words.size()));
  }
  return result;
}

/// Help, filled anew: what has been read of a paragraph, or of an option, until the next begins.
class Help {
 public:
  Help(std::size_t column, const Page& page)
      : columns_(std::min(page.columns, widest_help)), colour_(page.colour), column_(column) {}

  void add(std::string_view line) {
    const std::size_t indent = line.find_first_not_of(' ');
    if (indent == std::string_view::npos) {
      end(false);
      result_ += '\n';
    } else if (indent == 2) {
      end(true);
      // "  --report            what it does", or a name that has its description below
      const bool described =
          line.size() > column_ && line.substr(column_ - 2, 2) == "  " && line[column_] != ' ';
      name_ = line.substr(2, described ? column_ - 2 : line.npos);
      name_.erase(name_.find_last_not_of(' ') + 1);
      append(described ? line.substr(column_) : std::string_view());
    } else {
      if (indent == 0 && line.starts_with("Usage:")) {
        end(false);
      }
      if (indent != 0 && name_.empty()) {
        hanging_ = indent;
      }
      append(line.substr(indent));
    }
  }

  std::string result() {
    end(false);
    return std::move(result_);
  }

 private:
  void append(std::string_view words) {
    text_.append(text_.empty() || words.empty() ? "" : " ").append(words);
  }
  std::string painted(std::string_view colour, std::string_view words) const {
    return colour_ ? std::string(colour).append(words).append(plain) : std::string(words);
  }

  void end(bool option_follows) {
    if (!name_.empty()) {
      result_ += "  " + painted(cyan, name_);
      if (!text_.empty()) {
        const bool narrow = columns_ < column_ + narrowest_description;
        const std::size_t indent = narrow ? 2 + hanging_indent : column_;
        const std::size_t used = 2 + width_of(name_);
        result_ +=
            used + 1 < indent ? std::string(indent - used, ' ') : "\n" + std::string(indent, ' ');
        result_ += filled(text_, indent, indent, columns_);
      }
      result_ += '\n';
    } else if (!text_.empty()) {
      const std::string lines = filled(text_, 0, hanging_, columns_);
      const std::size_t head = option_follows                ? lines.size()
                               : lines.starts_with("Usage:") ? lines.find(':') + 1
                                                             : 0;
      result_ += head == 0 ? lines : painted(bold, lines.substr(0, head)) + lines.substr(head);
      result_ += '\n';
    }
    name_.clear();
    text_.clear();
    hanging_ = 0;
  }

  std::size_t columns_;
  bool colour_;
  std::size_t column_;
  std::string name_, text_;  // of an option, or a paragraph, which has no name
  std::size_t hanging_ = 0;
  std::string result_;
};

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

std::string help_laid_out(std::string_view help, std::size_t column, const Page& page) {
  if (page.columns == 0) {
    return std::string(help);
  }
  Help result(column, page);
  while (!help.empty()) {
    const std::size_t end = std::min(help.find('\n'), help.size());
    result.add(help.substr(0, end));
    help.remove_prefix(std::min(end + 1, help.size()));
  }
  return result.result();
}

}  // namespace meantime::settings
