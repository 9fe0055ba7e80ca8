// Guest work by a function (TL-Func of papers/timelord-cycle-stealing.txt): a library of the
// user's, which waiting ranks call in the place of a sleep.
//   void setup_extrawork(void)             before the first slice; may be missing
//   void do_extrawork(void)                one slice
//   void finish_extrawork(void)            in MPI_Finalize; may be missing
//   unsigned long extrawork_slice_ns       set before `setup_extrawork`: so long a slice should be
//   unsigned long extrawork_units          read now and then: what was done; else slices count
//   int extrawork_threads                  not 0: several threads may be in a slice at once
// A slice is on the stack of who waits, and as long as it lasts nobody ends the wait. One that is
// longer than ten times what it should be, after another such one, is counted, and then there is
// none for 100 times as long. What a guest does that a rank must not do in a wait: it throws, then
// there are no more slices; it calls MPI or exit, then the job ends. A crash is one of the rank.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "node/guest_work.h"

namespace meantime::guest {

class Function {
 public:
  explicit Function(std::uint64_t slice_ns) : slice_ns_(slice_ns) {}
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  /// Empty, or one line why not. `account`: has what is done if `finish` is called before anybody
  /// has entered.
  std::string load(const std::string& path, node::GuestWork& account);

  /// Whether the calling thread may do slices, as long as it does not leave.
  bool enter();
  /// Does one, at about that time, which it sets to its end. Returns 0; or the time before which
  /// there is none (~0: there are no more), and has done none.
  std::uint64_t slice(std::uint64_t& now_ns, node::GuestWork& account);
  void leave(node::GuestWork& account);
  /// No thread enters any more; waits for those that are in. Several times does not matter.
  void finish();

  [[nodiscard]] std::uint64_t slice_ns() const { return slice_ns_; }

 protected:
  ~Function() = default;

 private:
  /// In whatever surroundings the guest is to find; what it throws is passed on.
  virtual void call(void (&function)()) = 0;
  /// It threw that, and is not called any more.
  virtual void threw(const char* exception) = 0;

  bool catching(void (&function)());
  void note_units(node::GuestWork& account);

  const std::uint64_t slice_ns_;
  void (*work_)() = nullptr;
  void (*finish_)() = nullptr;
  volatile unsigned long* units_ = nullptr;
  std::atomic<std::uint64_t> noted_units_{0};
  std::atomic<node::GuestWork*> last_account_{nullptr};
  bool many_ = false;
  std::atomic<int> inside_{0};  ///< threads
  std::atomic<bool> over_{false};
  std::atomic<bool> was_long_{false};
  std::atomic<std::uint64_t> pause_until_ns_{0};
};

}  // namespace meantime::guest
