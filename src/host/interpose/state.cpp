// Functions of libc that keep something between two calls, for the whole process: here it is the
// rank's. Random numbers come out as libc's do.
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "host/process/rank_state.h"

namespace meantime::host {
namespace {

random_data& random_state(RankState& rank) {
  if (!rank.random_ready) {
    rank.random_ready = true;
    initstate_r(1, rank.random_bytes, sizeof rank.random_bytes, &rank.random);
  }
  return rank.random;
}

}  // namespace
}  // namespace meantime::host

using namespace meantime::host;

MEANTIME_INTERPOSED long random() noexcept {
  if (mine() == nullptr) {
    MEANTIME_REAL(random);
    return real();
  }
  int32_t value = 0;
  random_r(&random_state(*mine()), &value);
  return value;
}
MEANTIME_INTERPOSED int rand() noexcept {
  return static_cast<int>(random());
}
MEANTIME_INTERPOSED void srandom(unsigned seed) noexcept {
  if (mine() == nullptr) {
    MEANTIME_REAL(srandom);
    real(seed);
    return;
  }
  srandom_r(seed, &random_state(*mine()));
}
MEANTIME_INTERPOSED void srand(unsigned seed) noexcept {
  srandom(seed);
}
MEANTIME_INTERPOSED char* initstate(unsigned seed, char* bytes, size_t count) noexcept {
  if (mine() == nullptr) {
    MEANTIME_REAL(initstate);
    return real(seed, bytes, count);
  }
  random_data& state = random_state(*mine());
  char* const before = reinterpret_cast<char*>(&state.state[-1]);
  return initstate_r(seed, bytes, count, &state) == 0 ? before : nullptr;
}
MEANTIME_INTERPOSED char* setstate(char* bytes) noexcept {
  if (mine() == nullptr) {
    MEANTIME_REAL(setstate);
    return real(bytes);
  }
  random_data& state = random_state(*mine());
  char* const before = reinterpret_cast<char*>(&state.state[-1]);
  return setstate_r(bytes, &state) == 0 ? before : nullptr;
}

#define DRAND(type, name)                    \
  MEANTIME_INTERPOSED type name() noexcept { \
    if (mine() == nullptr) {                 \
      MEANTIME_REAL(name);                   \
      return real();                         \
    }                                        \
    type value{};                            \
    name##_r(&mine()->drand48, &value);      \
    return value;                            \
  }
DRAND(double, drand48)
DRAND(long, lrand48)
DRAND(long, mrand48)

#define DRAND_FROM(type, name)                                     \
  MEANTIME_INTERPOSED type name(unsigned short from[3]) noexcept { \
    if (mine() == nullptr) {                                       \
      MEANTIME_REAL(name);                                         \
      return real(from);                                           \
    }                                                              \
    type value{};                                                  \
    name##_r(from, &mine()->drand48, &value);                      \
    return value;                                                  \
  }
DRAND_FROM(double, erand48)
DRAND_FROM(long, nrand48)
DRAND_FROM(long, jrand48)

MEANTIME_INTERPOSED void srand48(long seed) noexcept {
  if (mine() == nullptr) {
    MEANTIME_REAL(srand48);
    real(seed);
    return;
  }
  srand48_r(seed, &mine()->drand48);
}
MEANTIME_INTERPOSED unsigned short* seed48(unsigned short from[3]) noexcept {
  MEANTIME_REAL(seed48);
  if (mine() == nullptr) {
    return real(from);
  }
  static thread_local unsigned short before[3];
  memcpy(before, mine()->drand48.__x, sizeof before);
  seed48_r(from, &mine()->drand48);
  return before;
}
MEANTIME_INTERPOSED void lcong48(unsigned short from[7]) noexcept {
  if (mine() == nullptr) {
    MEANTIME_REAL(lcong48);
    real(from);
    return;
  }
  lcong48_r(from, &mine()->drand48);
}

MEANTIME_INTERPOSED char* strtok(char* text, const char* separators) noexcept {
  static char* host_place = nullptr;
  return strtok_r(text, separators, mine() != nullptr ? &mine()->strtok_place : &host_place);
}
