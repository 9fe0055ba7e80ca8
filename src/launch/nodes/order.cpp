#include "launch/nodes/order.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "settings/shown.h"

namespace meantime::launch {
namespace {

constexpr std::string_view beginning = "meantime-order ";
constexpr std::size_t most_bytes = std::size_t{1} << 28;

bool read_all_of(int descriptor, char* to, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t some = read(descriptor, to, bytes);
    if (some == 0 || (some < 0 && errno != EINTR)) {
      return false;
    }
    const auto come = static_cast<std::size_t>(std::max<ssize_t>(some, 0));
    to += come;
    bytes -= come;
  }
  return true;
}

/// Texts, each with a zero byte behind it.
class Texts {
 public:
  explicit Texts(std::string_view text) : text_(text) {}
  std::string next() {
    const std::size_t end = std::min(text_.find('\0'), text_.size());
    std::string text(text_.substr(0, end));
    text_.remove_prefix(std::min(end + 1, text_.size()));
    return text;
  }
  int next_number() { return std::atoi(next().c_str()); }
  std::vector<std::string> next_list() {
    std::vector<std::string> list;
    for (int left = next_number(); left > 0 && !text_.empty(); --left) {
      list.push_back(next());
    }
    return list;
  }

 private:
  std::string_view text_;
};

bool is_of_machine(std::string_view variable) {
  constexpr std::array<std::string_view, 8> names = {"HOME",   "USER",     "LOGNAME", "SHELL",
                                                     "TMPDIR", "HOSTNAME", "MAIL",    "PWD"};
  const std::string_view name = variable.substr(0, variable.find('='));
  return name.starts_with("SSH_") || name.starts_with("SLURM") || name.starts_with("XDG_") ||
         name.starts_with("DBUS_") || std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::string text_of(const Order& order) {
  std::string text;
  const auto put = [&](const std::string& one) { (text += one) += '\0'; };
  const auto put_list = [&](const std::vector<std::string>& list) {
    put(fmt::to_string(list.size()));
    std::for_each(list.begin(), list.end(), put);
  };
  put(fmt::to_string(order.node));
  put(fmt::to_string(order.ranks));
  put(order.meeting);
  put(order.directory);
  put(fmt::to_string(order.nodes.size()));
  for (const NodeRequest& node : order.nodes) {
    put(node.name);
    put(fmt::to_string(node.slots));
  }
  put_list(order.words);
  put_list(order.environment);
  return fmt::format("{}{}\n", beginning, text.size()) + text;
}

std::optional<Order> read_order(int descriptor) {
  std::string line;
  char letter = 0;
  while (line.size() < 64 && read_all_of(descriptor, &letter, 1) && letter != '\n') {
    line += letter;
  }
  const std::size_t bytes =
      line.starts_with(beginning) ? std::strtoul(line.c_str() + beginning.size(), nullptr, 10) : 0;
  if (letter != '\n' || bytes == 0 || bytes > most_bytes) {
    return std::nullopt;
  }
  std::string text(bytes, '\0');
  if (!read_all_of(descriptor, text.data(), bytes)) {
    return std::nullopt;
  }
  Texts texts(text);
  Order order;
  order.node = texts.next_number();
  order.ranks = texts.next_number();
  order.meeting = texts.next();
  order.directory = texts.next();
  for (int left = texts.next_number(); left > 0; --left) {
    std::string name = texts.next();
    order.nodes.push_back({std::move(name), texts.next_number()});
  }
  order.words = texts.next_list();
  order.environment = texts.next_list();
  return order;
}

std::string follow(const Order& order) {
  std::vector<std::string> own;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (is_of_machine(*variable)) {
      own.emplace_back(*variable);
    }
  }
  clearenv();
  const auto set = [](const std::string& variable) {
    const std::size_t equals = variable.find('=');
    if (equals != std::string::npos) {
      setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
    }
  };
  for (const std::string& variable : order.environment) {
    if (!is_of_machine(variable)) {
      set(variable);
    }
  }
  std::for_each(own.begin(), own.end(), set);
  if (!order.directory.empty() && chdir(order.directory.c_str()) != 0) {
    return fmt::format("cannot go to the folder '{}': {}", settings::shown_path(order.directory),
                       std::strerror(errno));
  }
  setenv("PWD", order.directory.c_str(), 1);
  return {};
}

}  // namespace meantime::launch
