// Functions of libc whose result lies in one place of the process: a rank's lies in its own. They
// are libc's own variants for threads (name_r).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "host/interpose/own_results.h"
#include "host/process/own_descriptor.h"
#include "host/process/rank_state.h"

namespace meantime::host {

OwnResults& own_results() {
  std::unique_ptr<OwnResults>& results = mine()->results;
  if (results == nullptr) {
    results = std::make_unique<OwnResults>();
  }
  return *results;
}

namespace {

/// `ask(entry, text, bytes)` gives an errno; ERANGE: with more room for text.
template <class Entry, class Ask>
int with_room(OwnResult<Entry>& result, Ask ask) {
  constexpr std::size_t most = std::size_t{1} << 26;
  for (;;) {
    const int error = ask(&result.entry, result.text.data(), result.text.size());
    if (error != ERANGE || result.text.size() >= most) {
      return error;
    }
    result.text.resize(4 * result.text.size());
  }
}

}  // namespace
}  // namespace meantime::host

using namespace meantime::host;

// Users and groups tell errors by errno, which stays what it is if there is no such entry.
#define LOOKS_UP(type, name, member, parameter, argument)                                 \
  MEANTIME_INTERPOSED type* name(parameter argument) {                                    \
    if (mine() == nullptr) {                                                              \
      MEANTIME_REAL(name);                                                                \
      return real(argument);                                                              \
    }                                                                                     \
    type* found = nullptr;                                                                \
    const int error =                                                                     \
        with_room(own_results().member, [&](type* entry, char* text, std::size_t bytes) { \
          return name##_r(argument, entry, text, bytes, &found);                          \
        });                                                                               \
    if (error != 0) {                                                                     \
      errno = error;                                                                      \
    }                                                                                     \
    return found;                                                                         \
  }
LOOKS_UP(passwd, getpwnam, user, const char*, user_name)
LOOKS_UP(passwd, getpwuid, user, uid_t, number)
LOOKS_UP(group, getgrnam, group_of_users, const char*, group_name)
LOOKS_UP(group, getgrgid, group_of_users, gid_t, number)
LOOKS_UP(protoent, getprotobyname, protocol, const char*, protocol_name)
LOOKS_UP(protoent, getprotobynumber, protocol, int, number)

#define LOOKS_UP_SERVICE(name, parameter)                                                 \
  MEANTIME_INTERPOSED servent* name(parameter what, const char* protocol) {               \
    if (mine() == nullptr) {                                                              \
      MEANTIME_REAL(name);                                                                \
      return real(what, protocol);                                                        \
    }                                                                                     \
    servent* found = nullptr;                                                             \
    with_room(own_results().service, [&](servent* entry, char* text, std::size_t bytes) { \
      return name##_r(what, protocol, entry, text, bytes, &found);                        \
    });                                                                                   \
    return found;                                                                         \
  }
LOOKS_UP_SERVICE(getservbyname, const char*)
LOOKS_UP_SERVICE(getservbyport, int)

MEANTIME_INTERPOSED hostent* gethostbyname(const char* name) {
  if (mine() == nullptr) {
    MEANTIME_REAL(gethostbyname);
    return real(name);
  }
  hostent* found = nullptr;
  with_room(own_results().host, [&](hostent* entry, char* text, std::size_t bytes) {
    return gethostbyname_r(name, entry, text, bytes, &found, &h_errno);
  });
  return found;
}
MEANTIME_INTERPOSED hostent* gethostbyname2(const char* name, int family) {
  if (mine() == nullptr) {
    MEANTIME_REAL(gethostbyname2);
    return real(name, family);
  }
  hostent* found = nullptr;
  with_room(own_results().host, [&](hostent* entry, char* text, std::size_t bytes) {
    return gethostbyname2_r(name, family, entry, text, bytes, &found, &h_errno);
  });
  return found;
}
MEANTIME_INTERPOSED hostent* gethostbyaddr(const void* address, socklen_t length, int family) {
  if (mine() == nullptr) {
    MEANTIME_REAL(gethostbyaddr);
    return real(address, length, family);
  }
  hostent* found = nullptr;
  with_room(own_results().host, [&](hostent* entry, char* text, std::size_t bytes) {
    return gethostbyaddr_r(address, length, family, entry, text, bytes, &found, &h_errno);
  });
  return found;
}
MEANTIME_INTERPOSED mntent* getmntent(FILE* file) noexcept {
  if (mine() == nullptr) {
    MEANTIME_REAL(getmntent);
    return real(file);
  }
  OwnResult<mntent>& result = own_results().mount;
  result.text.resize(4096);
  return getmntent_r(file, &result.entry, result.text.data(), static_cast<int>(result.text.size()));
}

#define DIGITS(name, type)                                                                        \
  MEANTIME_INTERPOSED char* name(type value, int count, int* point, int* sign) noexcept {         \
    if (mine() == nullptr) {                                                                      \
      MEANTIME_REAL(name);                                                                        \
      return real(value, count, point, sign);                                                     \
    }                                                                                             \
    char* const text = own_results().digits;                                                      \
    return name##_r(value, count, point, sign, text, sizeof own_results().digits) == 0 ? text     \
                                                                                       : nullptr; \
  }
DIGITS(ecvt, double)
DIGITS(fcvt, double)
DIGITS(qecvt, long double)
DIGITS(qfcvt, long double)

MEANTIME_INTERPOSED char* l64a(long value) noexcept {
  MEANTIME_REAL(l64a);
  if (mine() == nullptr) {
    return real(value);
  }
  constexpr char digits[] = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  char* place = own_results().base_64;
  for (auto rest = static_cast<unsigned long>(value) & 0xffffffffUL; rest != 0; rest >>= 6) {
    *place++ = digits[rest & 63];
  }
  *place = '\0';
  return own_results().base_64;
}
MEANTIME_INTERPOSED char* ptsname(int number) noexcept {
  MEANTIME_REAL(ptsname);
  if (mine() == nullptr) {
    return real(number);
  }
  char(&name)[128] = own_results().other_terminal;
  const int error = ptsname_r(own_descriptor(number), name, sizeof name);
  if (error != 0) {
    errno = error;
  }
  return error == 0 ? name : nullptr;
}
MEANTIME_INTERPOSED char* ttyname(int number) noexcept {
  MEANTIME_REAL(ttyname);
  if (mine() == nullptr) {
    return real(number);
  }
  char(&name)[128] = own_results().terminal;
  const int error = ttyname_r(number, name, sizeof name);
  if (error != 0) {
    errno = error;
  }
  return error == 0 ? name : nullptr;
}
MEANTIME_INTERPOSED char* tmpnam(char* name) noexcept {
  MEANTIME_REAL(tmpnam);
  return real(name != nullptr || mine() == nullptr ? name : own_results().temporary);
}
MEANTIME_INTERPOSED char* strerror(int number) noexcept {
  MEANTIME_REAL(strerror);
  // Of a number without a text; before glibc 2.32 in one place of the process.
  return mine() == nullptr ? real(number)
                           : strerror_r(number, own_results().error, sizeof own_results().error);
}
MEANTIME_INTERPOSED char* ether_ntoa(const ether_addr* address) noexcept {
  MEANTIME_REAL(ether_ntoa);
  return mine() == nullptr ? real(address) : ether_ntoa_r(address, own_results().hardware_text);
}
MEANTIME_INTERPOSED ether_addr* ether_aton(const char* text) noexcept {
  MEANTIME_REAL(ether_aton);
  return mine() == nullptr ? real(text) : ether_aton_r(text, &own_results().hardware);
}
