// Addresses in programs as people know them: function, file and line. By addr2line (binutils),
// where it is installed and the program has what it reads; nothing else here understands debug
// info.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace meantime::launch {

/// An address in a file, as addr2line wants it.
struct CodeAddress {
  std::string file;
  std::uint64_t offset = 0;
  auto operator<=>(const CodeAddress&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// What is known of one. Always has a text: "program+0x1234" if there is no more.
struct SourceLocation {
  std::string function;  ///< empty: unknown
  std::string source;    ///< "solver.c:123"; empty: no debug info
  std::string text;      ///< all of it, for people
};

/// Runs addr2line once a file. Takes a while for large programs: what is not named after so many
/// seconds stays without a name.
std::map<CodeAddress, SourceLocation> symbolize(const std::vector<CodeAddress>& addresses,
                                                double seconds = 60);

}  // namespace meantime::launch
