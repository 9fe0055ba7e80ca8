#include "symbolize/symbolized_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "node/process.h"

namespace meantime::launch {
namespace {

constexpr std::string_view before_pid = "(pid ";
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

}  // namespace

UnsymbolizedText::UnsymbolizedText(std::string whole, int otherwise) : text_(std::move(whole)) {
  const std::string& text = text_;
  std::map<int, Modules> processes;
  std::size_t at = 0;
  while ((at = text.find(before_address, at)) != std::string::npos) {
    at += before_address.size();
    const std::size_t line = text.rfind('\n', at) + 1;  // 0 if it is the first
    const std::size_t pid_at = text.find(before_pid, line);
    const std::size_t plus = text.find("+0x", at);
    const std::size_t end = std::min(text.find_first_of(",\n", at), text.size());
    const bool says_pid = pid_at < at;  // npos is not
    if ((!says_pid && otherwise == 0) || plus > end) {
      continue;
    }
    const int pid = says_pid ? std::atoi(text.c_str() + pid_at + before_pid.size()) : otherwise;
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
