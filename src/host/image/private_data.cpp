#include "host/image/private_data.h"

#include <algorithm>
#include <iterator>

namespace meantime::host {
namespace {

#define MEANTIME_PLACE(member) \
  { offsetof(PrivateData, member), sizeof(PrivateData::member) }

/// By Datum.
constexpr DatumPlace places[] = {
    MEANTIME_PLACE(standard_input),  MEANTIME_PLACE(standard_output),
    MEANTIME_PLACE(standard_error),  MEANTIME_PLACE(option_argument),
    MEANTIME_PLACE(option_index),    MEANTIME_PLACE(option_errors),
    MEANTIME_PLACE(option_unknown),  MEANTIME_PLACE(environment),
    MEANTIME_PLACE(time_zone),       MEANTIME_PLACE(daylight),
    MEANTIME_PLACE(time_zone_names), MEANTIME_PLACE(sign_of_gamma),
    MEANTIME_PLACE(invocation_name), MEANTIME_PLACE(short_invocation_name),
    MEANTIME_PLACE(single_threaded),
};
#undef MEANTIME_PLACE
static_assert(std::size(places) == datums);

struct Name {
  std::string_view name;
  Datum datum;
};
constexpr Name names[] = {
    {"stdin", Datum::standard_input},
    {"stdout", Datum::standard_output},
    {"stderr", Datum::standard_error},
    {"optarg", Datum::option_argument},
    {"optind", Datum::option_index},
    {"opterr", Datum::option_errors},
    {"optopt", Datum::option_unknown},
    {"environ", Datum::environment},
    {"_environ", Datum::environment},
    {"__environ", Datum::environment},
    {"timezone", Datum::time_zone},
    {"__timezone", Datum::time_zone},
    {"daylight", Datum::daylight},
    {"__daylight", Datum::daylight},
    {"tzname", Datum::time_zone_names},
    {"__tzname", Datum::time_zone_names},
    {"signgam", Datum::sign_of_gamma},
    {"__signgam", Datum::sign_of_gamma},
    {"program_invocation_name", Datum::invocation_name},
    {"__progname_full", Datum::invocation_name},
    {"program_invocation_short_name", Datum::short_invocation_name},
    {"__progname", Datum::short_invocation_name},
    {"__libc_single_threaded", Datum::single_threaded},
};

}  // namespace

DatumPlace place_of(Datum datum) {
  return places[static_cast<std::size_t>(datum)];
}

Datum datum_named(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(names), std::end(names),
                   [&](const Name& candidate) { return candidate.name == name; });
  return found == std::end(names) ? Datum::count : found->datum;
}

}  // namespace meantime::host
