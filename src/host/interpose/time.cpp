// Local time. libc knows one time zone, the process's; a rank's is what TZ says in its own
// environment. So whoever asks sets libc's zone to the rank's first, one at a time, and takes what
// libc tells besides (tzname, timezone, daylight) to the rank's own variables.
#include <stdlib.h>
#include <time.h>
#include <wchar.h>

#include <mutex>
#include <optional>
#include <string>

#include "base/lock.h"
#include "host/process/rank_state.h"

namespace meantime::host {
namespace {

class InOwnZone {
 public:
  InOwnZone() : rank_(mine()) {
    if (rank_ == nullptr) {
      return;
    }
    hold_ = std::unique_lock(lock());
    static std::optional<std::string> applied = [] {
      MEANTIME_REAL(getenv);
      const char* const text = real("TZ");
      return text == nullptr ? std::optional<std::string>() : text;
    }();
    if (const char* const zone = getenv("TZ");
        applied.has_value() != (zone != nullptr) || (zone != nullptr && *applied != zone)) {
      if (zone == nullptr) {
        MEANTIME_REAL(unsetenv);
        real("TZ");
        applied.reset();
      } else {
        MEANTIME_REAL(setenv);
        real("TZ", zone, 1);
        applied = zone;
      }
      MEANTIME_REAL(tzset);
      real();
    }
  }
  ~InOwnZone() {
    if (rank_ == nullptr) {
      return;
    }
    rank_->image.data<long>(Datum::time_zone) = ::timezone;
    rank_->image.data<int>(Datum::daylight) = ::daylight;
    char** const names = &rank_->image.data<char*>(Datum::time_zone_names);
    names[0] = ::tzname[0];
    names[1] = ::tzname[1];
  }
  InOwnZone(const InOwnZone&) = delete;
  InOwnZone& operator=(const InOwnZone&) = delete;

 private:
  static Mutex& lock() {
    static constinit Mutex mutex;
    return mutex;
  }
  RankState* const rank_;
  std::unique_lock<Mutex> hold_;
};

}  // namespace
}  // namespace meantime::host

using namespace meantime::host;

MEANTIME_INTERPOSED void tzset() noexcept {
  MEANTIME_REAL(tzset);
  const InOwnZone zone;
  real();
}
MEANTIME_INTERPOSED struct tm* localtime_r(const time_t* value, struct tm* result) noexcept {
  MEANTIME_REAL(localtime_r);
  const InOwnZone zone;
  return real(value, result);
}
MEANTIME_INTERPOSED time_t mktime(struct tm* value) noexcept {
  MEANTIME_REAL(mktime);
  const InOwnZone zone;
  return real(value);
}
MEANTIME_INTERPOSED time_t timelocal(struct tm* value) noexcept {
  return mktime(value);
}
MEANTIME_INTERPOSED char* ctime_r(const time_t* value, char* result) noexcept {
  MEANTIME_REAL(ctime_r);
  const InOwnZone zone;
  return real(value, result);
}

#define FORMATS(type, name)                                                     \
  MEANTIME_INTERPOSED size_t name(type* text, size_t bytes, const type* format, \
                                  const struct tm* value) noexcept {            \
    MEANTIME_REAL(name);                                                        \
    const InOwnZone zone;                                                       \
    return real(text, bytes, format, value);                                    \
  }
#define FORMATS_BY_LOCALE(type, name)                                                 \
  MEANTIME_INTERPOSED size_t name(type* text, size_t bytes, const type* format,       \
                                  const struct tm* value, locale_t locale) noexcept { \
    MEANTIME_REAL(name);                                                              \
    const InOwnZone zone;                                                             \
    return real(text, bytes, format, value, locale);                                  \
  }
extern "C" {
size_t __strftime_l(char*, size_t, const char*, const struct tm*, locale_t) noexcept;
size_t __wcsftime_l(wchar_t*, size_t, const wchar_t*, const struct tm*, locale_t) noexcept;
}
FORMATS(char, strftime)
FORMATS(wchar_t, wcsftime)
FORMATS_BY_LOCALE(char, strftime_l)
FORMATS_BY_LOCALE(wchar_t, wcsftime_l)
FORMATS_BY_LOCALE(char, __strftime_l)
FORMATS_BY_LOCALE(wchar_t, __wcsftime_l)

// Their results lie in one buffer of the process.
#define INTO_OWN_BUFFER(name)                                         \
  MEANTIME_INTERPOSED struct tm* name(const time_t* value) noexcept { \
    static thread_local struct tm buffer;                             \
    return name##_r(value, &buffer);                                  \
  }
INTO_OWN_BUFFER(localtime)
INTO_OWN_BUFFER(gmtime)
MEANTIME_INTERPOSED char* ctime(const time_t* value) noexcept {
  static thread_local char buffer[26];
  return ctime_r(value, buffer);
}
MEANTIME_INTERPOSED char* asctime(const struct tm* value) noexcept {
  static thread_local char buffer[64];
  return asctime_r(value, buffer);
}
