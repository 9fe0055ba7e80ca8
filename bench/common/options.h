// Command-line options of a measuring program: `--name value`, and `--flag` alone.
//
// Written out here, in a few lines, because these programs must compile with nothing but the
// compiler wrapper of any MPI. Sizes may be written 64K, 1M; lists are separated by commas.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline long parse_size(const std::string& text) {
  char* rest = nullptr;
  const double number = std::strtod(text.c_str(), &rest);
  const std::string unit = rest;
  double factor = 1;
  if (unit == "K" || unit == "KiB") factor = 1024;
  if (unit == "M" || unit == "MiB") factor = 1024 * 1024;
  if (unit == "G" || unit == "GiB") factor = 1024.0 * 1024 * 1024;
  if (rest == text.c_str() || !(number >= 0 && number * factor < 9e18) ||
      (factor == 1 && (!unit.empty() || number != std::floor(number))))
    throw UsageError("'" + text + "' is not a size");
  return static_cast<long>(number * factor);
}

class Options {
 public:
  Options(int argc, char** argv) : words_(argv + 1, argv + argc) {}

  bool flag(const std::string& name) {
    known_.insert(name);
    for (const std::string& word : words_)
      if (word == "--" + name) return true;
    return false;
  }

  std::string text(const std::string& name, const std::string& otherwise) {
    known_.insert(name);
    with_value_.insert(name);
    for (std::size_t i = 0; i < words_.size(); i++) {
      if (words_[i] != "--" + name) continue;
      if (i + 1 == words_.size()) throw UsageError("--" + name + " wants a value");
      return words_[i + 1];
    }
    return otherwise;
  }

  std::vector<std::string> texts(const std::string& name, const std::string& otherwise) {
    std::vector<std::string> list;
    std::istringstream stream(text(name, otherwise));
    for (std::string item; std::getline(stream, item, ',');) list.push_back(item);
    if (list.empty() && !otherwise.empty()) throw UsageError("--" + name + " wants a list, not ''");
    return list;
  }

  std::vector<long> sizes(const std::string& name, const std::string& otherwise) {
    std::vector<long> list;
    for (const std::string& item : texts(name, otherwise)) list.push_back(parse_size(item));
    return list;
  }

  // Not negative; fractions allowed, units not.
  std::vector<double> numbers(const std::string& name, const std::string& otherwise) {
    std::vector<double> list;
    for (const std::string& item : texts(name, otherwise)) {
      char* rest = nullptr;
      list.push_back(std::strtod(item.c_str(), &rest));
      if (rest == item.c_str() || *rest || !(list.back() >= 0 && list.back() <= 1e9))
        throw UsageError("--" + name + " wants numbers from 0 to 1e9, not '" + item + "'");
    }
    return list;
  }

  long number(const std::string& name, long otherwise) {
    const std::string value = text(name, "");
    return value.empty() ? otherwise : parse_size(value);
  }

  // At least 1.
  long count(const std::string& name, long otherwise) {
    if (!given(name)) return otherwise;
    const std::string value = text(name, "");
    char* rest = nullptr;
    const double number = std::strtod(value.c_str(), &rest);
    const bool is_number = rest != value.c_str();
    if (is_number && *rest != '\0' && number > 0) return std::max(1L, parse_size(value));
    if (!is_number || !(number >= 1 && number <= 1e15) || number != std::floor(number))
      throw UsageError("--" + name + " wants a whole number from 1 on, not '" + value + "'");
    return static_cast<long>(number);
  }

  // Above 0.
  double seconds(const std::string& name, double otherwise) {
    if (!given(name)) return otherwise;
    const std::string value = text(name, "");
    char* rest = nullptr;
    const double number = std::strtod(value.c_str(), &rest);
    if (rest == value.c_str() || *rest || !(number > 0 && number <= 1e9))
      throw UsageError("--" + name + " wants seconds, more than 0, not '" + value + "'");
    return number;
  }

  // To be called when every option has been asked for: whatever is left is a mistake.
  void finish() const {
    for (std::size_t i = 0; i < words_.size(); i++) {
      const std::string& word = words_[i];
      if (word.rfind("--", 0) != 0 || !known_.count(word.substr(2)))
        throw UsageError("unknown option '" + word + "'");
      if (with_value_.count(word.substr(2))) i++;
    }
  }

 private:
  bool given(const std::string& name) const {
    return std::find(words_.begin(), words_.end(), "--" + name) != words_.end();
  }

  std::vector<std::string> words_;
  std::set<std::string> known_, with_value_;
};

// One line; the usage is long, and what is wrong would be lost above it. Returns the exit status.
inline int refuse(const char* program, const UsageError& error) {
  const std::string path = program;
  std::fprintf(stderr, "%s: %s (--help lists the options)\n",
               path.substr(path.rfind('/') + 1).c_str(), error.what());
  return 2;
}

}  // namespace bench
