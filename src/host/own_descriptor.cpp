#include "host/own_descriptor.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "host/rank_state.h"

namespace meantime::host {
namespace {

// System calls, because libc's names lead back here.
int raw_close(int place) {
  return static_cast<int>(syscall(SYS_close, place));
}
int raw_fcntl(int place, int command, long argument = 0) {
  return static_cast<int>(syscall(SYS_fcntl, place, command, argument));
}
int raw_dup3(int from, int to) {
  return static_cast<int>(syscall(SYS_dup3, from, to, O_CLOEXEC));
}

/// Above those that scripts and programs count on.
constexpr int least_place = 100;

// --- whose a place is

/// 0: nobody knows. Else a rank's, as (index + 1) * 2, and 1 more if a child would not get it.
using Owner = std::uint32_t;
constexpr Owner nobody = 0;
constexpr Owner hosts = 1;  ///< the library uses it on every rank's stack
constexpr Owner behind =
    ~Owner{0};  ///< of another number of some rank, or of the host's own threads

constexpr int most_places = 1 << 20;  // the kernel's own limit (fs.nr_open), untouched mostly
std::atomic<int> above_all{3};        ///< places that had an owner lie below
std::atomic<int> makers{0};

std::atomic<Owner>* owners() {
  static auto* const all = static_cast<std::atomic<Owner>*>(
      mmap(nullptr, most_places * sizeof(std::atomic<Owner>), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  return all;
}

Owner owner(int place) {
  return static_cast<unsigned>(place) < most_places ? owners()[place].load() : nobody;
}

void set_owner(int place, Owner owner) {
  if (static_cast<unsigned>(place) >= most_places) {
    return;
  }
  owners()[place].store(owner);
  int before = above_all.load(std::memory_order_relaxed);
  while (before <= place && !above_all.compare_exchange_weak(before, place + 1)) {
  }
}

Owner of_rank(int index, bool closes_on_exec) {
  return static_cast<Owner>(index + 1) * 2 + (closes_on_exec ? 1 : 0);
}

/// What nobody is known to have: opened in a way that we do not see (a raw system call, libc for
/// itself), or by a rank that is just about to tell whose it is. The first may be closed. (Who
/// makes one counts himself before and after: if it was open before we found no maker, and is
/// nobody's still, it is none of a maker's.)
bool is_strays(int place) {
  return raw_fcntl(place, F_GETFD) >= 0 && makers.load() == 0 && owner(place) == nobody;
}

// --- what all ranks have from mpiexec's parent

struct Inherited {
  std::atomic<int> place;  ///< -1: no rank has it any more
  std::atomic<int> users{0};

  explicit Inherited(int number) : place(number) {}
};

std::deque<Inherited>& inherited() {
  static auto& all = *new std::deque<Inherited>;
  return all;
}

void leave_inherited(int number) {
  for (Inherited& each : inherited()) {
    if (each.place == number && each.users.fetch_sub(1) == 1) {
      each.place = -1;
      set_owner(number, nobody);
      raw_close(number);
    }
  }
}

/// A closed standard descriptor: keeps its number, and every use of it is an error.
int hole() {
  static const int place =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  static const bool noted = (set_owner(place, behind), true);
  return noted ? place : -1;
}

}  // namespace

Making::Making() {
  makers.fetch_add(1);
}
Making::~Making() {
  makers.fetch_sub(1);
}

void note_inherited_descriptors(const std::vector<int>& of_meantime) {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) {
    return;
  }
  while (const dirent* each = readdir(folder)) {
    const int place = std::atoi(each->d_name);
    if (place <= 2 || place == dirfd(folder)) {
      continue;
    }
    set_owner(place, hosts);
    if (std::find(of_meantime.begin(), of_meantime.end(), place) == of_meantime.end()) {
      inherited().emplace_back(place);
    }
  }
  closedir(folder);
  hole();
}

void Descriptors::begin(int index, const int (&places)[3]) {
  index_ = index;
  for (int number = 0; number < 3; ++number) {
    standard_[number] = places[number];
    set_owner(places[number], behind);
  }
  for (Inherited& each : inherited()) {
    each.users.fetch_add(1);
  }
}

const Descriptors::Put* Descriptors::find(int number) const {
  const auto found = std::find_if(put_.begin(), put_.end(),
                                  [&](const Put& each) { return each.number == number; });
  return found == put_.end() ? nullptr : &*found;
}

Descriptors::Put* Descriptors::find(int number) {
  return const_cast<Put*>(std::as_const(*this).find(number));
}

int Descriptors::place_of(int number) const {
  if (static_cast<unsigned>(number) < 3) {
    return open_[number].load(std::memory_order_acquire) ? standard_[number] : -1;
  }
  if (any_put_.load(std::memory_order_relaxed)) {
    const std::lock_guard guard(lock_);
    if (const Put* const put = find(number)) {
      return put->place;
    }
  }
  const Owner whose = owner(number);
  return whose <= hosts || whose / 2 == static_cast<Owner>(index_ + 1) ? number : -1;
}

int Descriptors::number_of(int place) const {
  for (int number = 0; number < 3; ++number) {
    if (standard_[number] == place) {
      return number;
    }
  }
  if (any_put_.load(std::memory_order_relaxed)) {
    const std::lock_guard guard(lock_);
    for (const Put& each : put_) {
      if (each.place == place) {
        return each.number;
      }
    }
  }
  return place;
}

bool Descriptors::has_inherited(int number) const {
  return find(number) == nullptr &&
         std::any_of(inherited().begin(), inherited().end(),
                     [&](const Inherited& each) { return each.place == number; });
}

bool Descriptors::is_own(int place) const {
  return owner(place) / 2 == static_cast<Owner>(index_ + 1);
}

void Descriptors::own(int place, bool closes_on_exec) const {
  set_owner(place, of_rank(index_, closes_on_exec));
}

/// A standard descriptor that is closed becomes a second one of that place. False: it is open.
bool Descriptors::fill(int number, int place, bool closes_on_exec) {
  if (open_[number].load(std::memory_order_relaxed) || raw_dup3(place, standard_[number]) < 0) {
    return false;
  }
  standard_closes_on_exec_[number] = closes_on_exec;
  open_[number].store(true, std::memory_order_release);
  return true;
}

/// The rank's from now on, by a number that it has nothing else at.
int Descriptors::settle(int place, bool closes_on_exec) {
  for (Put* put = find(place); put != nullptr; put = find(place)) {
    if (put->place < 0) {
      put_.erase(put_.begin() + (put - put_.data()));
      break;
    }
    const int other = raw_fcntl(place, F_DUPFD_CLOEXEC, std::max(least_place, place + 1));
    raw_close(place);
    if (other < 0) {
      return -1;
    }
    place = other;
  }
  own(place, closes_on_exec);
  return place;
}

int Descriptors::take(int place) {
  const int flags = raw_fcntl(place, F_GETFD);
  const bool closes_on_exec = (flags & FD_CLOEXEC) != 0;
  if (!closes_on_exec) {
    raw_fcntl(place, F_SETFD, flags | FD_CLOEXEC);
  }
  const std::lock_guard guard(lock_);
  for (int number = 0; number < 3; ++number) {
    if (fill(number, place, closes_on_exec)) {
      raw_close(place);
      return number;
    }
  }
  return settle(place, closes_on_exec);
}

int Descriptors::put(int from, int number, bool closes_on_exec) {
  const int source = place_of(from);
  if (raw_fcntl(source, F_GETFD) < 0 || number < 0) {
    errno = EBADF;
    return -1;
  }
  if (from == number) {
    return number;
  }
  const std::lock_guard guard(lock_);
  if (number < 3) {
    if (raw_dup3(source, standard_[number]) < 0) {
      return -1;
    }
    standard_closes_on_exec_[number] = closes_on_exec;
    open_[number].store(true, std::memory_order_release);
    return number;
  }
  Put* const before = find(number);
  if (before != nullptr && before->place >= 0) {
    before->closes_on_exec = closes_on_exec;
    return raw_dup3(source, before->place) < 0 ? -1 : number;
  }
  if (before == nullptr && is_own(number)) {
    if (raw_dup3(source, number) < 0) {
      return -1;
    }
    own(number, closes_on_exec);
    return number;
  }
  const Making making;
  // The number itself, if it is free in the host, in one step.
  const int place = raw_fcntl(source, F_DUPFD_CLOEXEC, number);
  if (place < 0) {
    errno = errno == EINVAL ? EBADF : errno;
    return -1;
  }
  if (place == number) {
    return settle(place, closes_on_exec);
  }
  set_owner(place, behind);
  const bool was_inherited = has_inherited(number);
  if (before != nullptr) {
    *before = {number, place, closes_on_exec};
  } else {
    put_.push_back({number, place, closes_on_exec});
  }
  any_put_.store(true, std::memory_order_relaxed);
  if (was_inherited) {
    leave_inherited(number);
  }
  return number;
}

int Descriptors::duplicate(int from, int least, bool closes_on_exec) {
  const int source = place_of(from);
  const Making making;
  const std::lock_guard guard(lock_);
  if (raw_fcntl(source, F_GETFD) >= 0 && least >= 0) {
    for (int number = least; number < 3; ++number) {
      if (fill(number, source, closes_on_exec)) {
        return number;
      }
    }
  }
  const int place = raw_fcntl(source, F_DUPFD_CLOEXEC, least < 0 ? least : std::max(least, 3));
  return place < 0 ? -1 : settle(place, closes_on_exec);
}

int Descriptors::close(int number) {
  const std::lock_guard guard(lock_);
  return close_locked(number);
}

int Descriptors::close_locked(int number) {
  if (static_cast<unsigned>(number) < 3) {
    if (!open_[number].exchange(false)) {
      errno = EBADF;
      return -1;
    }
    return raw_dup3(hole(), standard_[number]) < 0 ? -1 : 0;
  }
  if (Put* const put = find(number)) {
    const int place = std::exchange(put->place, -1);
    if (place < 0) {
      errno = EBADF;
      return -1;
    }
    set_owner(place, nobody);
    return raw_close(place);
  }
  if (is_own(number)) {
    set_owner(number, nobody);
    return raw_close(number);
  }
  if (has_inherited(number)) {
    put_.push_back({number, -1, false});
    any_put_.store(true, std::memory_order_relaxed);
    leave_inherited(number);
    return 0;
  }
  if (owner(number) != nobody || !is_strays(number)) {
    errno = EBADF;
    return -1;
  }
  return raw_close(number);
}

void Descriptors::close_range(unsigned first, unsigned last, bool only_on_exec) {
  const int end =
      static_cast<int>(std::min<unsigned>(last, static_cast<unsigned>(above_all.load()) - 1));
  const int error = errno;
  for (int number = static_cast<int>(std::min<unsigned>(first, most_places)); number <= end;
       ++number) {
    const std::lock_guard guard(lock_);
    if (number < 3 || is_own(number) || find(number) != nullptr || has_inherited(number)) {
      if (only_on_exec) {
        set_closes_locked(number, true);
      } else {
        close_locked(number);
      }
    }
  }
  errno = error;
}

bool Descriptors::closes_on_exec(int number) const {
  const std::lock_guard guard(lock_);
  if (static_cast<unsigned>(number) < 3) {
    return standard_closes_on_exec_[number];
  }
  if (const Put* const put = find(number)) {
    return put->closes_on_exec;
  }
  return is_own(number) ? owner(number) % 2 != 0 : (raw_fcntl(number, F_GETFD) & FD_CLOEXEC) != 0;
}

void Descriptors::set_closes_on_exec(int number, bool closes) {
  const std::lock_guard guard(lock_);
  set_closes_locked(number, closes);
}

void Descriptors::set_closes_locked(int number, bool closes) {
  if (static_cast<unsigned>(number) < 3) {
    standard_closes_on_exec_[number] = closes;
  } else if (Put* const put = find(number)) {
    put->closes_on_exec = closes;
  } else if (is_own(number)) {
    own(number, closes);
  } else if (closes && has_inherited(number)) {
    put_.push_back({number, raw_fcntl(number, F_DUPFD_CLOEXEC, least_place), true});
    set_owner(put_.back().place, behind);
    any_put_.store(true, std::memory_order_relaxed);
    leave_inherited(number);
  }
}

std::vector<std::pair<int, int>> Descriptors::for_child() const {
  const std::lock_guard guard(lock_);
  std::vector<std::pair<int, int>> result;
  for (int number = 0; number < 3; ++number) {
    const bool open = open_[number].load(std::memory_order_relaxed);
    result.emplace_back(number, open && !standard_closes_on_exec_[number] ? standard_[number] : -1);
  }
  const int end = above_all.load();
  for (int place = 3; place < end; ++place) {
    if (owner(place) == of_rank(index_, false)) {
      result.emplace_back(place, place);
    }
  }
  // Last: a number may be another one's place.
  for (const Put& each : put_) {
    result.emplace_back(each.number, each.closes_on_exec ? -1 : each.place);
  }
  return result;
}

void Descriptors::standard_is(int number, bool open) {
  const std::lock_guard guard(lock_);
  if (!open) {
    raw_dup3(hole(), standard_[number]);
  } else {
    raw_fcntl(standard_[number], F_SETFD, FD_CLOEXEC);
    standard_closes_on_exec_[number] = false;
  }
  open_[number].store(open, std::memory_order_release);
}

void Descriptors::forget(int number) {
  const std::lock_guard guard(lock_);
  if (Put* const put = find(number)) {
    set_owner(std::exchange(put->place, -1), nobody);
  } else if (is_own(number)) {
    set_owner(number, nobody);
  }
}

bool Descriptors::has(int number) const {
  const std::lock_guard guard(lock_);
  const Put* const put = find(number);
  return static_cast<unsigned>(number) < 3 ||
         (put != nullptr ? put->place >= 0
                         : has_inherited(number) || is_own(number) || owner(number) == nobody);
}

void Descriptors::give_up(int number) {
  const std::lock_guard guard(lock_);
  if (is_own(number)) {
    set_owner(number, hosts);
  }
}

void Descriptors::close_all() {
  const std::lock_guard guard(lock_);
  for (int number = 0; number < 3; ++number) {
    open_[number].store(false);
    set_owner(standard_[number], nobody);
    raw_close(standard_[number]);
  }
  for (const Inherited& each : inherited()) {
    if (has_inherited(each.place)) {
      leave_inherited(each.place);
    }
  }
  for (const Put& each : std::exchange(put_, {})) {
    if (each.place >= 0) {
      set_owner(each.place, nobody);
      raw_close(each.place);
    }
  }
  const int end = above_all.load();
  for (int place = 3; place < end; ++place) {
    if (is_own(place)) {
      set_owner(place, nobody);
      raw_close(place);
    }
  }
}

int own_descriptor(int number) {
  return mine() != nullptr ? mine()->descriptors.place_of(number) : number;
}

int own_new(int place) {
  if (place < 0) {
    return place;
  }
  if (mine() == nullptr) {
    set_owner(place, behind);
    return place;
  }
  const int error = errno;
  const int number = mine()->descriptors.take(place);
  errno = error;
  return number;
}

int own_number(int place) {
  return mine() != nullptr && place >= 0 ? mine()->descriptors.number_of(place) : place;
}

void forget_own(int number) {
  if (mine() != nullptr) {
    mine()->descriptors.forget(number);
  } else if (number >= 0) {
    set_owner(number, nobody);
  }
}

void keep_for_host(int place) {
  if (place >= 0) {
    set_owner(place, hosts);
  }
}

void close_for_host(int place) {
  set_owner(place, nobody);
  raw_close(place);
}

const char* own_path(const char* path, char (&room)[32]) {
  if (mine() == nullptr || path == nullptr ||
      (std::strncmp(path, "/dev/", 5) != 0 && std::strncmp(path, "/proc/self/fd/", 14) != 0)) {
    return path;
  }
  int number = -1;
  if (std::strcmp(path, "/dev/stdin") == 0) {
    number = 0;
  } else if (std::strcmp(path, "/dev/stdout") == 0) {
    number = 1;
  } else if (std::strcmp(path, "/dev/stderr") == 0) {
    number = 2;
  } else if (const char* const digits = std::strncmp(path, "/dev/fd/", 8) == 0 ? path + 8
                                        : path[1] == 'p'                       ? path + 14
                                                                               : "";
             *digits >= '0' && *digits <= '9') {
    char* end = nullptr;
    const long value = std::strtol(digits, &end, 10);
    number = *end == '\0' && value < most_places ? static_cast<int>(value) : -1;
  }
  if (number < 0) {
    return path;
  }
  std::snprintf(room, sizeof room, "/proc/self/fd/%d", own_descriptor(number));
  return room;
}

}  // namespace meantime::host
