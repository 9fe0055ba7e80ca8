// What a measuring program prints: text for people, or with --json one JSON object a line.
//
// Lines of the second form:
//   {"program": …, "mpi": …, "ranks": …}           the header, once
//   {"start": {name and keys}}                     a point begins (so that a run cut off by a time
//                                                  limit tells which point it was in)
//   {"row": {name and keys, "unit", "median", "mean", "min", "p99", "max", "samples", and what the
//            program tells besides}}
//   {"list": {name and keys, "unit", "values": […]}}  many values that belong together
//   {"skip": {name and keys, "why"}}               a point that was not run
// Each line is flushed: what was measured before a kill is kept.
#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "samples.h"

namespace bench {

inline std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) result += c;
  }
  return result + "\"";
}

// A value of a point's keys: a number or a word.
struct Value {
  std::string json, plain;
  Value(long number) : json(std::to_string(number)), plain(json) {}
  Value(int number) : Value(static_cast<long>(number)) {}
  Value(double number) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.6g", number);
    json = plain = digits;
  }
  Value(const std::string& word) : json(quoted(word)), plain(word) {}
  Value(const char* word) : Value(std::string(word)) {}
};

using Keys = std::vector<std::pair<std::string, Value>>;

inline std::string human_size(long bytes) {
  if (bytes >= (1L << 20) && bytes % (1L << 20) == 0) return std::to_string(bytes >> 20) + " MiB";
  if (bytes >= 1024 && bytes % 1024 == 0) return std::to_string(bytes >> 10) + " KiB";
  return std::to_string(bytes) + " B";
}

class Report {
 public:
  // Only the process that `speaks` prints.
  Report(bool speaks, bool json) : speaks_(speaks), json_(json) {}

  void header(const std::string& program, const Keys& keys) {
    if (!speaks_) return;
    if (json_) {
      std::printf("{\"program\": %s%s}\n", quoted(program).c_str(), members(keys, true).c_str());
    } else {
      std::printf("# %s:", program.c_str());
      for (const auto& [name, value] : keys)
        std::printf(" %s %s;", name.c_str(), value.plain.c_str());
      std::printf("\n%-52s %8s %10s %10s %10s %10s %10s %9s\n", "", "unit", "median", "mean", "min",
                  "p99", "max", "samples");
    }
    std::fflush(stdout);
  }

  void start(const std::string& name, const Keys& keys) {
    if (!speaks_ || !json_) return;
    std::printf("{\"start\": {\"name\": %s%s}}\n", quoted(name).c_str(),
                members(keys, true).c_str());
    std::fflush(stdout);
  }

  void row(const std::string& name, const Keys& keys, const std::string& unit,
           const Distribution& values, const Keys& besides = {}) {
    if (!speaks_) return;
    if (json_) {
      std::printf(
          "{\"row\": {\"name\": %s%s, \"unit\": %s, \"median\": %.6g, \"mean\": %.6g, "
          "\"min\": %.6g, \"p99\": %.6g, \"max\": %.6g, \"samples\": %zu%s}}\n",
          quoted(name).c_str(), members(keys, true).c_str(), quoted(unit).c_str(), values.median,
          values.mean, values.min, values.p99, values.max, values.samples,
          members(besides, true).c_str());
    } else {
      std::printf("%-52s %8s %10.4g %10.4g %10.4g %10.4g %10.4g %9zu\n", label(name, keys).c_str(),
                  unit.c_str(), values.median, values.mean, values.min, values.p99, values.max,
                  values.samples);
      for (const auto& [key, value] : besides)
        std::printf("    %s %s", key.c_str(), value.plain.c_str());
      if (!besides.empty()) std::printf("\n");
    }
    std::fflush(stdout);
  }

  void list(const std::string& name, const Keys& keys, const std::string& unit,
            const std::vector<double>& values) {
    if (!speaks_) return;
    std::string text;
    for (double value : values) text += (text.empty() ? "" : ", ") + Value(value).plain;
    if (json_)
      std::printf("{\"list\": {\"name\": %s%s, \"unit\": %s, \"values\": [%s]}}\n",
                  quoted(name).c_str(), members(keys, true).c_str(), quoted(unit).c_str(),
                  text.c_str());
    else
      std::printf("%s, %s: %s\n", label(name, keys).c_str(), unit.c_str(), text.c_str());
    std::fflush(stdout);
  }

  void skip(const std::string& name, const Keys& keys, const std::string& why) {
    if (!speaks_) return;
    if (json_)
      std::printf("{\"skip\": {\"name\": %s%s, \"why\": %s}}\n", quoted(name).c_str(),
                  members(keys, true).c_str(), quoted(why).c_str());
    else
      std::printf("%-52s not run: %s\n", label(name, keys).c_str(), why.c_str());
    std::fflush(stdout);
  }

 private:
  static std::string members(const Keys& keys, bool comma) {
    std::string result;
    for (const auto& [name, value] : keys) {
      result += (comma || !result.empty()) ? ", " : "";
      result += quoted(name) + ": " + value.json;
    }
    return result;
  }

  static std::string label(const std::string& name, const Keys& keys) {
    std::string result = name;
    for (const auto& [key, value] : keys)
      result +=
          ", " + (key == "bytes" ? human_size(std::stol(value.plain)) : key + " " + value.plain);
    return result;
  }

  bool speaks_, json_;
};

}  // namespace bench
