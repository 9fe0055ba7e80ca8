// The locale. setlocale is about the process, and each thread may have another one instead
// (uselocale), which is kept with its control block: so what a rank sets is in use for the rank's
// own thread only, and to the rank it is the one of its process (LC_GLOBAL_LOCALE). All that libc
// does by the locale goes by the thread's: printf, strtod, isalpha, strcoll, wide characters,
// dates.
//
// A thread that the rank starts begins with the rank's; a later setlocale in another of its threads
// is not seen there.
#include "host/interpose/locale.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include <array>
#include <cerrno>
#include <map>
#include <string>

#include "base/lock.h"
#include "host/interpose/own_results.h"
#include "host/process/rank_state.h"

namespace meantime::host {
namespace {

struct Category {
  int number;
  const char* name;
};
/// In the order in which LC_ALL's names are given.
constexpr Category categories[] = {{LC_CTYPE, "LC_CTYPE"},
                                   {LC_NUMERIC, "LC_NUMERIC"},
                                   {LC_TIME, "LC_TIME"},
                                   {LC_COLLATE, "LC_COLLATE"},
                                   {LC_MONETARY, "LC_MONETARY"},
                                   {LC_MESSAGES, "LC_MESSAGES"},
                                   {LC_PAPER, "LC_PAPER"},
                                   {LC_NAME, "LC_NAME"},
                                   {LC_ADDRESS, "LC_ADDRESS"},
                                   {LC_TELEPHONE, "LC_TELEPHONE"},
                                   {LC_MEASUREMENT, "LC_MEASUREMENT"},
                                   {LC_IDENTIFICATION, "LC_IDENTIFICATION"}};
constexpr std::size_t count = std::size(categories);
using Names = std::array<std::string, count>;

locale_t real_use(locale_t locale) {
  MEANTIME_REAL(uselocale);
  return real(locale);
}
locale_t real_new(int mask, const char* name, locale_t base) {
  MEANTIME_REAL(newlocale);
  return real(mask, name, base);
}

/// What "" stands for: by the rank's own variables, which libc does not know.
std::string by_environment(const Category& category) {
  for (const char* variable : {"LC_ALL", category.name, "LANG"}) {
    if (const char* const value = getenv(variable); value != nullptr && *value != '\0') {
      return value;
    }
  }
  return "C";
}

/// A locale that somebody has set, with what setlocale says of it. Never freed: each is there once,
/// for all ranks, and programs keep what setlocale gave them.
struct Known {
  locale_t locale = LC_GLOBAL_LOCALE;
  Names names;
  std::string all;
};

std::string name_of_all(const Names& names) {
  std::string text;
  bool same = true;
  for (std::size_t i = 0; i < count; ++i) {
    same = same && names[i] == names[0];
    text += (i == 0 ? "" : ";") + std::string(categories[i].name) + "=" + names[i];
  }
  return same ? names[0] : text;
}

/// nullptr: there is no such locale.
const Known* find(Names names) {
  static constinit Mutex lock;
  const LockGuard hold(lock);
  // Not before: ThreadSanitizer's builds make statics without a lock.
  static auto& all MEANTIME_GUARDED_BY(lock) = *new std::map<Names, Known>;
  bool plain = true;
  for (std::string& name : names) {
    if (name == "POSIX") {
      name = "C";
    }
    plain = plain && name == "C";
  }
  if (const auto found = all.find(names); found != all.end()) {
    return &found->second;
  }
  Known known{LC_GLOBAL_LOCALE, names, name_of_all(names)};
  if (!plain) {
    known.locale = real_new(LC_ALL_MASK, "C", nullptr);
    for (std::size_t i = 0; i < count && known.locale != nullptr; ++i) {
      const locale_t more = real_new(1 << categories[i].number, names[i].c_str(), known.locale);
      if (more == nullptr) {
        freelocale(known.locale);
      }
      known.locale = more;
    }
    if (known.locale == nullptr) {
      return nullptr;
    }
  }
  return &all.emplace(names, std::move(known)).first->second;
}

const Known& plain() {
  Names names;
  names.fill("C");
  static const Known& known = *find(names);
  return known;
}

const Known& current() {
  const auto* const set = static_cast<const Known*>(mine()->locale.load());
  return set != nullptr ? *set : plain();
}

/// LC_ALL with a name for each category, as setlocale gave it.
bool parse(const char* text, Names& names) {
  std::size_t found = 0;
  while (*text != '\0') {
    const std::size_t length = strcspn(text, ";");
    const char* const equals = static_cast<const char*>(memchr(text, '=', length));
    if (equals == nullptr) {
      return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (std::string(text, equals) == categories[i].name) {
        names[i].assign(equals + 1, text + length);
        ++found;
      }
    }
    text += length + (text[length] == ';' ? 1 : 0);
  }
  return found >= count;
}

bool choose(int category, const char* name, Names& names) {
  const bool all = category == LC_ALL;
  if (all && strchr(name, ';') != nullptr) {
    return parse(name, names);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (all || category == categories[i].number) {
      names[i] = *name == '\0' ? by_environment(categories[i]) : name;
    }
  }
  return true;
}

std::size_t index_of(int category) {
  std::size_t i = 0;
  while (i < count && categories[i].number != category) {
    ++i;
  }
  return i;
}

}  // namespace

void begin_with_locale_of_rank() {
  real_use(current().locale);
}

}  // namespace meantime::host

using namespace meantime::host;

MEANTIME_INTERPOSED char* setlocale(int category, const char* name) noexcept {
  MEANTIME_REAL(setlocale);
  if (mine() == nullptr) {
    return real(category, name);
  }
  const std::size_t index = index_of(category);
  if (index == count && category != LC_ALL) {
    errno = EINVAL;
    return nullptr;
  }
  const Known* known = &current();
  if (name != nullptr) {
    Names names = known->names;
    const Known* const next = choose(category, name, names) ? find(std::move(names)) : nullptr;
    if (next == nullptr) {
      errno = ENOENT;
      return nullptr;
    }
    // A thread that has a locale of its own keeps it.
    if (real_use(nullptr) == known->locale) {
      real_use(next->locale);
    }
    mine()->locale.store(next);
    known = next;
  }
  return const_cast<char*>((category == LC_ALL ? known->all : known->names[index]).c_str());
}

MEANTIME_INTERPOSED locale_t uselocale(locale_t locale) noexcept {
  if (mine() == nullptr) {
    return real_use(locale);
  }
  const locale_t of_rank = current().locale;
  const locale_t before = real_use(locale == LC_GLOBAL_LOCALE ? of_rank : locale);
  return before == of_rank ? LC_GLOBAL_LOCALE : before;
}
MEANTIME_INTERPOSED locale_t duplocale(locale_t locale) noexcept {
  MEANTIME_REAL(duplocale);
  return real(locale == LC_GLOBAL_LOCALE && mine() != nullptr ? current().locale : locale);
}
MEANTIME_INTERPOSED locale_t newlocale(int mask, const char* name, locale_t base) noexcept {
  if (mine() == nullptr || name == nullptr || *name != '\0') {
    return real_new(mask, name, base);
  }
  const locale_t given = base;
  if (mask == LC_ALL_MASK || mask == 1 << LC_ALL) {
    mask = 0;
    for (const Category& category : categories) {
      mask |= 1 << category.number;
    }
  }
  for (const Category& category : categories) {
    if ((mask & 1 << category.number) != 0) {
      const locale_t next = real_new(1 << category.number, by_environment(category).c_str(), base);
      if (next == nullptr) {
        if (base != given) {
          freelocale(base);
        }
        return nullptr;
      }
      base = next;
    }
  }
  return base;
}

// libstdc++'s names for them.
extern "C" {
locale_t __uselocale(locale_t locale) noexcept;
locale_t __duplocale(locale_t locale) noexcept;
locale_t __newlocale(int mask, const char* name, locale_t base) noexcept;
}
MEANTIME_INTERPOSED locale_t __uselocale(locale_t locale) noexcept {
  return uselocale(locale);
}
MEANTIME_INTERPOSED locale_t __duplocale(locale_t locale) noexcept {
  return duplocale(locale);
}
MEANTIME_INTERPOSED locale_t __newlocale(int mask, const char* name, locale_t base) noexcept {
  return newlocale(mask, name, base);
}

MEANTIME_INTERPOSED lconv* localeconv() noexcept {
  MEANTIME_REAL(localeconv);
  if (mine() == nullptr) {
    return real();
  }
  static meantime::Mutex lock;
  const meantime::LockGuard hold(lock);
  own_results().numbers = *real();
  return &own_results().numbers;
}
