// The resident memory of this process.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace bench {

// From smaps_rollup (Linux 4.14), which counts pages; VmRSS lags behind by up to 64 of each thread.
inline double resident_kib() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  for (std::string word; rollup >> word;)
    if (word == "Rss:" && rollup >> word) return std::stod(word);
  std::fprintf(stderr, "bench: /proc/self/smaps_rollup does not tell Rss\n");
  std::exit(1);
}

}  // namespace bench
