// Keys of thread-specific values (pthread_key_create, tss_create): libc has 1024 for a process,
// which a few dozen ranks with a few libraries each would use up. A value belongs to a thread and a
// thread to a rank, so a key of libc's can be one of each rank's at the same time; only whether a
// rank has it, and what is to be called at a thread's end, is the rank's own.
#pragma once

#include <pthread.h>

#include <vector>

#include "base/lock.h"

namespace meantime::host {

class OwnKeys {
 public:
  using Destructor = void (*)(void*);

  /// 0 or an error number, as pthread_key_create. `alone`: the rank has no other threads, so none
  /// of them has a value of a key that was deleted.
  int create(pthread_key_t* key, Destructor destructor, bool alone);
  /// 0 or an error number.
  int remove(pthread_key_t key);
  bool has_had(pthread_key_t key);
  /// At the end of the calling thread: as often as libc does while there are values.
  void destroy_values();

 private:
  struct Key {
    pthread_key_t number;
    Destructor destructor;
    bool exists;
  };

  Key* find(pthread_key_t number) MEANTIME_REQUIRES(lock_);

  Mutex lock_;
  std::vector<Key> keys_ MEANTIME_GUARDED_BY(lock_);
};

}  // namespace meantime::host
