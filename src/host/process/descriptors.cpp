#include "host/process/descriptors.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "host/process/descriptor_places.h"
#include "host/process/own_descriptor.h"

namespace meantime::host {
namespace {

/// Above those that scripts and programs count on.
constexpr int least_place = 100;

}  // namespace

void Descriptors::begin(int index, const int (&places)[3]) {
  index_ = index;
  for (int number = 0; number < 3; ++number) {
    standard_[number] = places[number];
    set_owner(places[number], behind);
  }
  enter_inherited();
}

const Descriptors::Put* Descriptors::find(int number) const {
  const auto found = std::find_if(put_.begin(), put_.end(),
                                  [&](const Put& each) { return each.number == number; });
  return found == put_.end() ? nullptr : &*found;
}

Descriptors::Put* Descriptors::find(int number) {
  return const_cast<Put*>(static_cast<const Descriptors*>(this)->find(number));
}

int Descriptors::place_of(int number) const {
  if (static_cast<unsigned>(number) < 3) {
    return open_[number].load(std::memory_order_acquire) ? standard_[number] : -1;
  }
  if (any_put_.load(std::memory_order_relaxed)) {
    const LockGuard guard(lock_);
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
    const LockGuard guard(lock_);
    for (const Put& each : put_) {
      if (each.place == place) {
        return each.number;
      }
    }
  }
  return place;
}

bool Descriptors::has_inherited(int number) const {
  return find(number) == nullptr && is_inherited(number);
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
  const LockGuard guard(lock_);
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
  const LockGuard guard(lock_);
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
  const LockGuard guard(lock_);
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
  const LockGuard guard(lock_);
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
      static_cast<int>(std::min<unsigned>(last, static_cast<unsigned>(end_of_places()) - 1));
  const int error = errno;
  for (int number = static_cast<int>(std::min<unsigned>(first, most_places)); number <= end;
       ++number) {
    const LockGuard guard(lock_);
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
  const LockGuard guard(lock_);
  if (static_cast<unsigned>(number) < 3) {
    return standard_closes_on_exec_[number];
  }
  if (const Put* const put = find(number)) {
    return put->closes_on_exec;
  }
  return is_own(number) ? owner(number) % 2 != 0 : (raw_fcntl(number, F_GETFD) & FD_CLOEXEC) != 0;
}

void Descriptors::set_closes_on_exec(int number, bool closes) {
  const LockGuard guard(lock_);
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
    const int least = std::max(least_place, number + 1);
    put_.push_back({number, raw_fcntl(number, F_DUPFD_CLOEXEC, least), true});
    set_owner(put_.back().place, behind);
    any_put_.store(true, std::memory_order_relaxed);
    leave_inherited(number);
  }
}

std::vector<std::pair<int, int>> Descriptors::for_child(const LockGuard<Mutex>& /*locked*/) const {
  std::vector<std::pair<int, int>> result;
  for (int number = 0; number < 3; ++number) {
    const bool open = open_[number].load(std::memory_order_relaxed);
    result.emplace_back(number, open && !standard_closes_on_exec_[number] ? standard_[number] : -1);
  }
  const int end = end_of_places();
  for (int place = 3; place < end; ++place) {
    if (owner(place) == of_rank(index_, false)) {
      result.emplace_back(place, place);
    }
  }
  // Last, and in this order: a number may be another one's place, but the place of a smaller one.
  const std::size_t first = result.size();
  for (const Put& each : put_) {
    result.emplace_back(each.number, each.closes_on_exec ? -1 : each.place);
  }
  std::sort(result.begin() + static_cast<std::ptrdiff_t>(first), result.end());
  return result;
}

void Descriptors::standard_is(int number, bool open) {
  const LockGuard guard(lock_);
  if (!open) {
    raw_dup3(hole(), standard_[number]);
  } else {
    raw_fcntl(standard_[number], F_SETFD, FD_CLOEXEC);
    standard_closes_on_exec_[number] = false;
  }
  open_[number].store(open, std::memory_order_release);
}

void Descriptors::forget(int number) {
  const LockGuard guard(lock_);
  if (Put* const put = find(number)) {
    set_owner(std::exchange(put->place, -1), nobody);
  } else if (is_own(number)) {
    set_owner(number, nobody);
  }
}

bool Descriptors::has(int number) const {
  const LockGuard guard(lock_);
  const Put* const put = find(number);
  return static_cast<unsigned>(number) < 3 ||
         (put != nullptr ? put->place >= 0
                         : has_inherited(number) || is_own(number) || owner(number) == nobody);
}

void Descriptors::give_up(int number) {
  const LockGuard guard(lock_);
  if (is_own(number)) {
    set_owner(number, hosts);
  }
}

void Descriptors::close_all() {
  const LockGuard guard(lock_);
  for (int number = 0; number < 3; ++number) {
    open_[number].store(false);
    set_owner(standard_[number], nobody);
    raw_close(standard_[number]);
  }
  for (const int number : inherited_numbers()) {
    if (has_inherited(number)) {
      leave_inherited(number);
    }
  }
  for (const Put& each : std::exchange(put_, {})) {
    if (each.place >= 0) {
      set_owner(each.place, nobody);
      raw_close(each.place);
    }
  }
  const int end = end_of_places();
  for (int place = 3; place < end; ++place) {
    if (is_own(place)) {
      set_owner(place, nobody);
      raw_close(place);
    }
  }
}

}  // namespace meantime::host
