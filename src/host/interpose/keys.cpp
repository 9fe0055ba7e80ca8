// Keys of thread-specific values. A rank's come from libc's, and all ranks have the same ones of
// them (own_keys.h). One that a rank has deleted stays libc's, and threads keep their values of it:
// so the rank may have it again only while it has no other threads.
#include <dlfcn.h>
#include <pthread.h>
#include <threads.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>

#include "base/lock.h"
#include "host/interpose/own_keys.h"
#include "host/process/rank_state.h"

namespace meantime::host {
namespace {

constinit Mutex lock_of_numbers;
/// Those of libc's that some rank has or had; they stay. Asked with the lock held, the first time,
/// too: ThreadSanitizer's builds make statics without one.
std::vector<pthread_key_t>& numbers_of_ranks() MEANTIME_REQUIRES(lock_of_numbers) {
  static auto& all = *new std::vector<pthread_key_t>;
  return all;
}

int real_create(pthread_key_t* key, OwnKeys::Destructor destructor) {
  MEANTIME_REAL(pthread_key_create);
  return real(key, destructor);
}

/// Whoever is shared by all ranks wants a key of its own.
bool is_of_rank(const void* caller) {
  Dl_info info{};
  return mine() != nullptr && dladdr(caller, &info) != 0 &&
         mine()->image.member_of_base(info.dli_fbase) >= 0;
}

int create(pthread_key_t* key, OwnKeys::Destructor destructor, const void* caller) {
  if (!is_of_rank(caller)) {
    return real_create(key, destructor);
  }
  return mine()->keys.create(key, destructor, mine()->other_threads.load() == 0);
}

int remove(pthread_key_t key) {
  MEANTIME_REAL(pthread_key_delete);
  return mine() != nullptr && mine()->keys.has_had(key) ? mine()->keys.remove(key) : real(key);
}

}  // namespace

OwnKeys::Key* OwnKeys::find(pthread_key_t number) {
  const auto found = std::find_if(keys_.begin(), keys_.end(),
                                  [&](const Key& each) { return each.number == number; });
  return found != keys_.end() ? &*found : nullptr;
}

int OwnKeys::create(pthread_key_t* key, Destructor destructor, bool alone) {
  const LockGuard guard(lock_);
  const auto deleted =
      std::find_if(keys_.begin(), keys_.end(), [](const Key& each) { return !each.exists; });
  if (deleted != keys_.end() && alone) {
    *deleted = {deleted->number, destructor, true};
    *key = deleted->number;
    return pthread_setspecific(*key, nullptr);
  }
  {
    const LockGuard guard_all(lock_of_numbers);
    std::vector<pthread_key_t>& numbers = numbers_of_ranks();
    const auto other = std::find_if(numbers.begin(), numbers.end(),
                                    [&](pthread_key_t each)
                                        MEANTIME_REQUIRES(lock_) { return find(each) == nullptr; });
    pthread_key_t number{};
    if (other != numbers.end()) {
      number = *other;
    } else if (const int error = real_create(&number, nullptr); error == 0) {
      numbers.push_back(number);
    } else {
      return error;
    }
    *key = number;
  }
  keys_.push_back({*key, destructor, true});
  return 0;
}

int OwnKeys::remove(pthread_key_t key) {
  const LockGuard guard(lock_);
  Key* const found = find(key);
  if (found == nullptr || !found->exists) {
    return EINVAL;
  }
  *found = {key, nullptr, false};
  return 0;
}

bool OwnKeys::has_had(pthread_key_t key) {
  const LockGuard guard(lock_);
  return find(key) != nullptr;
}

void OwnKeys::destroy_values() {
  bool again = true;
  for (int round = 0; again && round < PTHREAD_DESTRUCTOR_ITERATIONS; ++round) {
    again = false;
    for (std::size_t i = 0;; ++i) {
      Key key{};
      {
        const LockGuard guard(lock_);  // a destructor may make others
        if (i == keys_.size()) {
          break;
        }
        key = keys_[i];
      }
      void* const value = key.destructor != nullptr ? pthread_getspecific(key.number) : nullptr;
      if (value != nullptr) {
        pthread_setspecific(key.number, nullptr);
        key.destructor(value);
        again = true;
      }
    }
  }
}

}  // namespace meantime::host

using namespace meantime::host;

MEANTIME_INTERPOSED int pthread_key_create(pthread_key_t* key, void (*destructor)(void*)) noexcept {
  return create(key, destructor, __builtin_return_address(0));
}
/// By which libstdc++ and libgcc know it.
MEANTIME_INTERPOSED int __pthread_key_create(pthread_key_t* key,
                                             void (*destructor)(void*)) noexcept {
  return create(key, destructor, __builtin_return_address(0));
}
MEANTIME_INTERPOSED int pthread_key_delete(pthread_key_t key) noexcept {
  return remove(key);
}
MEANTIME_INTERPOSED int tss_create(tss_t* key, tss_dtor_t destructor) {
  return create(key, destructor, __builtin_return_address(0)) == 0 ? thrd_success : thrd_error;
}
MEANTIME_INTERPOSED void tss_delete(tss_t key) {
  remove(key);
}
