// Clock, and what is told about many measurements of one thing.
//
// All clock readings are nanoseconds of CLOCK_MONOTONIC; a reading costs about 20 ns, the same in
// every program here, bare prototype or MPI, so ratios between them are fair.
#pragma once

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

inline std::uint64_t clock_ns(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}
inline std::uint64_t now_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}
inline std::uint64_t thread_cpu_ns() {
  return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
inline std::uint64_t process_cpu_ns() {
  return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

struct Distribution {
  double median = 0, mean = 0, min = 0, p99 = 0, max = 0;
  std::size_t samples = 0;

  Distribution scaled(double factor) const {
    return {median * factor, mean * factor, min * factor, p99 * factor, max * factor, samples};
  }
};

// Not interpolated: the p99 of fewer than 100 samples is their maximum.
inline Distribution distribution_of(std::vector<double> values) {
  Distribution result;
  result.samples = values.size();
  if (values.empty()) return result;
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (double value : values) sum += value;
  result.mean = sum / static_cast<double>(values.size());
  result.median = values[values.size() / 2];
  result.min = values.front();
  result.p99 = values[std::min(values.size() - 1, values.size() * 99 / 100)];
  result.max = values.back();
  return result;
}

// Not interpolated either.
inline double quantile_of(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  const auto place = values.begin() + static_cast<long>(std::min(values.size() - 1, at));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

// Standard deviation.
inline double deviation_of(const std::vector<double>& values) {
  double mean = 0, squares = 0;
  for (double value : values) mean += value / static_cast<double>(values.size());
  for (double value : values) squares += (value - mean) * (value - mean);
  return values.size() < 2 ? 0 : std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// Differences of successive clock readings: one sample a turn.
inline std::vector<double> differences(const std::vector<std::uint64_t>& stamps) {
  std::vector<double> result;
  for (std::size_t i = 1; i < stamps.size(); i++)
    result.push_back(static_cast<double>(stamps[i] - stamps[i - 1]));
  return result;
}

}  // namespace bench
