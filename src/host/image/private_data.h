// Variables of libc and libm that every rank has its own of (stdout, optind, environ, timezone …):
// what they are, under which names files refer to them, and room for a rank's values where its
// program has none.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string_view>

namespace meantime::host {

enum class Datum : unsigned char {
  standard_input,
  standard_output,
  standard_error,
  option_argument,
  option_index,
  option_errors,
  option_unknown,
  environment,
  time_zone,
  daylight,
  time_zone_names,
  sign_of_gamma,
  invocation_name,
  short_invocation_name,
  single_threaded,
  count
};
inline constexpr std::size_t datums = static_cast<std::size_t>(Datum::count);

struct PrivateData {
  std::FILE* standard_input = nullptr;
  std::FILE* standard_output = nullptr;
  std::FILE* standard_error = nullptr;
  char* option_argument = nullptr;
  int option_index = 1;
  int option_errors = 1;
  int option_unknown = '?';
  char** environment = nullptr;
  long time_zone = 0;
  int daylight = 0;
  char* time_zone_names[2] = {};
  int sign_of_gamma = 0;
  char* invocation_name = nullptr;
  char* short_invocation_name = nullptr;
  char single_threaded = 1;  ///< libstdc++ counts references without atomics while it is
};

/// Where one of them lies in a PrivateData.
struct DatumPlace {
  std::size_t offset;
  std::size_t bytes;
};
DatumPlace place_of(Datum datum);

/// By its name in libc or libm; Datum::count if it is none of them.
Datum datum_named(std::string_view name);

}  // namespace meantime::host
