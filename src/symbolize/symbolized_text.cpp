#include "symbolize/symbolized_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "node/memory_map.h"

namespace meantime::launch {
namespace {

constexpr std::string_view before_pid = "(pid ";
constexpr std::string_view of_a_namespace = " in its own namespace";
constexpr std::string_view before_address = "called from ";

/// The job waits for its end meanwhile.
constexpr double longest_seconds = 3;

/// Full paths of what is mapped into a process, by their last part.
using Modules = std::map<std::string, std::string>;

Modules modules_of(int pid) {
  Modules modules;
  std::ifstream maps = node::memory_map(pid);
  for (std::string line; std::getline(maps, line);) {
    if (const std::size_t path = line.find('/'); path != std::string::npos) {
      modules.emplace(line.substr(line.rfind('/') + 1), line.substr(path));
    }
  }
  return modules;
}

/// Of "  rank 3 (pid 17) waits in", or "(pid 17 on node7)": 17. 0 of one in its own namespace.
int pid_before(std::string_view line, int otherwise) {
  const std::size_t at = line.find(before_pid);
  if (at == std::string_view::npos) {
    return otherwise;
  }
  const std::string_view from = line.substr(at + before_pid.size());
  const std::size_t end = std::min(from.find_first_not_of("0123456789"), from.size());
  return from.substr(end).starts_with(of_a_namespace)
             ? 0
             : std::atoi(std::string(from.substr(0, end)).c_str());
}

}  // namespace

UnsymbolizedText::UnsymbolizedText(std::string whole, int otherwise) : text_(std::move(whole)) {
  std::string& text = text_;
  std::map<int, Modules> processes;
  std::size_t at = 0;
  while ((at = text.find(before_address, at)) != std::string::npos) {
    at += before_address.size();
    const std::size_t line = text.rfind('\n', at) + 1;  // 0 if it is the first
    const int pid = pid_before(std::string_view(text).substr(line, at - line), otherwise);
    std::size_t end = std::min(text.find_first_of(",\n", at), text.size());
    if (pid == 0) {
      continue;
    }
    if (text.compare(at, 2, "0x") == 0) {  // whoever wrote it may not look into that process
      text.replace(at, end - at,
                   node::code_location(pid, std::strtoull(text.c_str() + at, nullptr, 16)));
      end = std::min(text.find_first_of(",\n", at), text.size());
    }
    const std::size_t plus = text.find("+0x", at);
    if (plus > end) {
      continue;
    }
    auto [process, is_new] = processes.try_emplace(pid);
    if (is_new) {
      process->second = modules_of(pid);
    }
    const auto module = process->second.find(text.substr(at, plus - at));
    if (module != process->second.end()) {
      mentions_.push_back(
          {at, end, {module->second, std::strtoull(text.c_str() + plus + 1, nullptr, 16)}});
    }
  }
}

std::string UnsymbolizedText::named(double seconds) const {
  std::vector<CodeAddress> addresses;
  for (const Mention& mention : mentions_) {
    addresses.push_back(mention.address);
  }
  const std::map<CodeAddress, SourceLocation> names = symbolize(addresses, seconds);
  std::string result;
  std::size_t done = 0;
  for (const Mention& mention : mentions_) {
    const SourceLocation& name = names.at(mention.address);
    result.append(text_, done, mention.begin - done);
    result += name.function.empty() ? text_.substr(mention.begin, mention.end - mention.begin)
                                    : name.text;
    done = mention.end;
  }
  return result + text_.substr(done);
}

std::string symbolized(const std::string& text, int pid) {
  return UnsymbolizedText(text, pid).named(longest_seconds);
}

}  // namespace meantime::launch
