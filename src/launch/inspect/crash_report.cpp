#include "launch/inspect/crash_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <vector>

#include "symbolize/demangle.h"
#include "symbolize/source_location.h"

namespace meantime::launch {
namespace {

constexpr std::string_view before_frame = "  #";

struct Line {
  std::string text;     ///< with the file's last part alone
  CodeAddress address;  ///< no file: no frame of one
};

/// Of the address behind a file's name, which may look like one itself; npos: there is none.
std::size_t offset_of_address(const std::string& text, std::size_t from) {
  std::size_t plus = text.find("+0x", from);
  while (plus != std::string::npos) {
    const std::size_t end = text.find_first_not_of("0123456789abcdef", plus + 3);
    if (end == std::string::npos || text[end] == ' ') {
      break;
    }
    plus = text.find("+0x", plus + 1);
  }
  return plus;
}

/// `paths`: those that the lines before it had, by their last part.
Line read_line(const std::string& text, std::map<std::string, std::string>& paths) {
  const std::size_t begin = text.find(' ', before_frame.size()) + 1;  // 0 if there is none
  const std::size_t plus = offset_of_address(text, begin);
  if (!text.starts_with(before_frame) || begin == 0 || plus == std::string::npos) {
    return {text, {}};
  }
  const std::string file = text.substr(begin, plus - begin);
  const std::string name = file.substr(file.rfind('/') + 1);
  if (name != file) {
    paths[name] = file;
  }
  const auto path = paths.find(name);
  return {text.substr(0, begin) + name + text.substr(plus),
          {path == paths.end() ? "" : path->second,
           std::strtoull(text.c_str() + plus + 1, nullptr, 16)}};
}

/// Of a frame what stands behind its number.
std::string_view address_in(std::string_view line) {
  return line.starts_with(before_frame)
             ? line.substr(std::min(line.find(' ', before_frame.size()), line.size()))
             : std::string_view();
}

/// A full stack is mostly one function.
std::string without_repetition(const std::vector<std::string>& lines) {
  std::string result;
  for (std::size_t first = 0; first < lines.size();) {
    std::size_t next = first + 1;
    while (next < lines.size() && !address_in(lines[first]).empty() &&
           address_in(lines[next]) == address_in(lines[first])) {
      ++next;
    }
    result += (first == 0 ? "" : "\n") + lines[first];
    const std::size_t more = next - first - 1;
    if (more == 1) {
      result += "\n" + lines[first + 1];
    } else if (more > 1) {
      result += fmt::format("\n  … and {} frames more of the same", more);
    }
    first = next;
  }
  return result;
}

}  // namespace

std::string readable_crash(std::string_view text, double seconds) {
  std::map<std::string, std::string> paths;
  std::vector<Line> lines;
  std::vector<CodeAddress> addresses;
  std::istringstream all{std::string(text)};
  for (std::string line; std::getline(all, line);) {
    lines.push_back(read_line(line, paths));
    if (!lines.back().address.file.empty()) {
      addresses.push_back(lines.back().address);
    }
  }
  const std::map<CodeAddress, SourceLocation> names = symbolize(addresses, seconds);
  std::vector<std::string> readable;
  for (const Line& line : lines) {
    readable.push_back(demangled(line.text));
    const auto name = names.find(line.address);
    if (name == names.end() || name->second.function.empty()) {
      continue;
    }
    const SourceLocation& where = name->second;
    const std::string source = where.source.empty() ? "" : ", " + where.source;
    std::string& frame = readable.back();
    if (frame.ends_with(')')) {
      frame.insert(frame.size() - 1, source);
    } else {
      frame += fmt::format(" ({}{})", where.function, source);
    }
  }
  return without_repetition(readable);
}

}  // namespace meantime::launch
