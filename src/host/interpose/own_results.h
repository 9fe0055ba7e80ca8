// What functions of libc keep or give back in one place of the process, for a rank: made when it
// first calls one of them. As in a process, another thread of the rank may overwrite a result.
#pragma once

#include <grp.h>
#include <locale.h>
#include <mntent.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <pwd.h>
#include <uchar.h>
#include <wchar.h>

#include <vector>

namespace meantime::host {

/// A structure and the text that it points to.
template <class Entry>
struct OwnResult {
  Entry entry{};
  std::vector<char> text = std::vector<char>(1024);
};

/// Which function keeps how far it has come in a character of several bytes.
enum class MultibyteState {
  mblen,
  mbtowc,
  wctomb,
  mbrlen,
  mbrtowc,
  wcrtomb,
  to_wide,
  from_wide,
  from_16,
  from_32,
  to_16,
  to_32,
  count
};

struct OwnResults {
  OwnResult<passwd> user;
  OwnResult<group> group_of_users;
  OwnResult<hostent> host;
  OwnResult<servent> service;
  OwnResult<protoent> protocol;
  OwnResult<mntent> mount;
  lconv numbers{};
  mbstate_t multibyte[static_cast<int>(MultibyteState::count)] = {};
  ether_addr hardware{};
  char hardware_text[32];
  char digits[512];
  char base_64[8];
  char terminal[128];
  char other_terminal[128];
  char temporary[64];
  char error[256];
};

/// Of the calling rank.
OwnResults& own_results();

}  // namespace meantime::host
