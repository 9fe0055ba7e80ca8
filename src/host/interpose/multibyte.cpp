// Conversions of characters of several bytes that keep how far they have come when the caller has
// no place for it: in one place of the process each; here in one of the rank.
#include <stdlib.h>
#include <string.h>
#include <uchar.h>
#include <wchar.h>

#include "host/interpose/own_results.h"
#include "host/process/rank_state.h"

namespace meantime::host {
namespace {

mbstate_t& own(MultibyteState which) {
  return own_results().multibyte[static_cast<int>(which)];
}
mbstate_t* own_if(mbstate_t* state, MultibyteState which) {
  return state != nullptr || mine() == nullptr ? state : &own(which);
}

}  // namespace
}  // namespace meantime::host

using namespace meantime::host;

#define KEEPS_3(name, which, A, B)                                       \
  MEANTIME_INTERPOSED size_t name(A a, B b, mbstate_t* state) noexcept { \
    MEANTIME_REAL(name);                                                 \
    return real(a, b, own_if(state, MultibyteState::which));             \
  }
#define KEEPS_4(name, which, A, B)                                                     \
  MEANTIME_INTERPOSED size_t name(A a, B b, size_t count, mbstate_t* state) noexcept { \
    MEANTIME_REAL(name);                                                               \
    return real(a, b, count, own_if(state, MultibyteState::which));                    \
  }
#define KEEPS_5(name, which, A, B)                                                               \
  MEANTIME_INTERPOSED size_t name(A a, B b, size_t from, size_t to, mbstate_t* state) noexcept { \
    MEANTIME_REAL(name);                                                                         \
    return real(a, b, from, to, own_if(state, MultibyteState::which));                           \
  }
KEEPS_3(mbrlen, mbrlen, const char*, size_t)
KEEPS_3(wcrtomb, wcrtomb, char*, wchar_t)
KEEPS_3(c16rtomb, from_16, char*, char16_t)
KEEPS_3(c32rtomb, from_32, char*, char32_t)
KEEPS_4(mbrtowc, mbrtowc, wchar_t*, const char*)
KEEPS_4(mbrtoc16, to_16, char16_t*, const char*)
KEEPS_4(mbrtoc32, to_32, char32_t*, const char*)
KEEPS_4(mbsrtowcs, to_wide, wchar_t*, const char**)
KEEPS_4(wcsrtombs, from_wide, char*, const wchar_t**)
KEEPS_5(mbsnrtowcs, to_wide, wchar_t*, const char**)
KEEPS_5(wcsnrtombs, from_wide, char*, const wchar_t**)

namespace {

/// mbtowc and mblen: an incomplete character is none.
int one_character(wchar_t* result, const char* text, size_t bytes, MultibyteState which) {
  mbstate_t& state = own(which);
  if (text == nullptr) {
    state = {};
    return 0;  // no encoding of glibc's locales depends on what came before
  }
  const auto length = static_cast<ssize_t>(mbrtowc(result, text, bytes, &state));
  if (length < 0) {
    state = {};
    return -1;
  }
  return static_cast<int>(length);
}

}  // namespace

MEANTIME_INTERPOSED int mbtowc(wchar_t* result, const char* text, size_t bytes) noexcept {
  MEANTIME_REAL(mbtowc);
  return mine() == nullptr ? real(result, text, bytes)
                           : one_character(result, text, bytes, MultibyteState::mbtowc);
}
MEANTIME_INTERPOSED int mblen(const char* text, size_t bytes) noexcept {
  MEANTIME_REAL(mblen);
  return mine() == nullptr ? real(text, bytes)
                           : one_character(nullptr, text, bytes, MultibyteState::mblen);
}
MEANTIME_INTERPOSED int wctomb(char* text, wchar_t character) noexcept {
  MEANTIME_REAL(wctomb);
  if (mine() == nullptr) {
    return real(text, character);
  }
  mbstate_t& state = own(MultibyteState::wctomb);
  if (text == nullptr) {
    state = {};
    return 0;
  }
  return static_cast<int>(static_cast<ssize_t>(wcrtomb(text, character, &state)));
}
