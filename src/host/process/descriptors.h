// Descriptors by number, so that each rank finds those of its own as a process does.
//   number   what the rank says
//   place    the descriptor in the host
// The two are the same, except for
//   0, 1, 2     at a place of their own for the rank's whole life, because its streams keep that
//               number; while one of them is closed, the next descriptor that the rank gets is it
//   put         at a number that the rank chose (dup2, dup3) and somebody else has in the host
//   inherited   from mpiexec's own parent: every rank has them, until it closes them itself
// Of every place the host knows whose it is: a rank that closes all numbers there are closes its
// own, and at a rank's end its descriptors go. In the host none stays open over an exec; whether it
// would in a process is kept here, for the rank's children.
#pragma once

#include <atomic>
#include <utility>
#include <vector>

#include "base/lock.h"

namespace meantime::host {

class Descriptors {
 public:
  /// `index` of the rank in its host; `places` of what it knows as 0, 1 and 2.
  void begin(int index, const int (&places)[3]);

  /// -1, which is a bad descriptor to every call, if the rank has none of that number.
  int place_of(int number) const;
  int number_of(int place) const;

  /// The kernel has just given this one: what the rank knows it as.
  int take(int place);
  /// dup2 and dup3. Result and errno are theirs.
  int put(int from, int number, bool closes_on_exec);
  /// fcntl's F_DUPFD.
  int duplicate(int from, int least, bool closes_on_exec);
  int close(int number);
  void close_range(unsigned first, unsigned last, bool only_on_exec);

  /// FD_CLOEXEC as the rank knows it.
  bool closes_on_exec(int number) const;
  void set_closes_on_exec(int number, bool closes);

  /// Of a child of the rank, to be made in this order: `first` is a number there, `second` the
  /// place here; -1: it has none. True only while it is locked: until the child has been started
  /// no thread of the rank makes or closes one.
  std::vector<std::pair<int, int>> for_child(const LockGuard<Mutex>& locked) const
      MEANTIME_REQUIRES(lock_);
  Mutex& lock() const { return lock_; }

  /// For 0, 1 and 2: the place, open or not.
  int standard_place(int number) const { return standard_[number]; }
  /// Its stream has been closed, and with it the place, or opened again.
  void standard_is(int number, bool open);
  /// Somebody else closes or has closed the place (fclose).
  void forget(int number);
  /// False if it is another rank's or the host's, or nothing.
  bool has(int number) const;
  /// It stays open in the host, whatever becomes of the rank.
  void give_up(int number);

  /// At the end of the rank.
  void close_all();

 private:
  struct Put {
    int number;
    int place;  ///< above `number`, or -1: closed since; others may have something there
    bool closes_on_exec;
  };

  Put* find(int number) MEANTIME_REQUIRES(lock_);
  const Put* find(int number) const MEANTIME_REQUIRES(lock_);
  int close_locked(int number) MEANTIME_REQUIRES(lock_);
  bool fill(int number, int place, bool closes_on_exec) MEANTIME_REQUIRES(lock_);
  int settle(int place, bool closes_on_exec) MEANTIME_REQUIRES(lock_);
  void set_closes_locked(int number, bool closes) MEANTIME_REQUIRES(lock_);
  bool has_inherited(int number) const MEANTIME_REQUIRES(lock_);
  bool is_own(int place) const;
  void own(int place, bool closes_on_exec) const;

  mutable Mutex lock_;
  int index_ = -1;
  int standard_[3] = {0, 1, 2};
  std::atomic<bool> open_[3] = {true, true, true};
  bool standard_closes_on_exec_[3] MEANTIME_GUARDED_BY(lock_) = {};
  std::atomic<bool> any_put_{false};
  std::vector<Put> put_ MEANTIME_GUARDED_BY(lock_);
};

}  // namespace meantime::host
