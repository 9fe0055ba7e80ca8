// Where a crashed thread is, as text: for the handlers of signals of a host of thread ranks
// (host/process/crash.cpp) and of a process rank (core/error/crash.cpp). Takes no memory and no
// lock of the allocator: the rank may have crashed in malloc. (glibc's unwinder looks files up
// without a lock.)
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <utility>

namespace meantime::ranks {

inline constexpr int most_frames = 40;

/// A text of limited length.
class CrashText {
 public:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    const auto room = static_cast<std::size_t>(bytes_ + sizeof bytes_ - 1 - end_);
    const auto done = fmt::format_to_n(end_, room, format, std::forward<Values>(values)...);
    end_ = done.out;
    *end_ = '\0';
  }
  const char* text() const { return bytes_; }

  /// "/home/me/stencil+0x1234": what addr2line wants, which mpiexec asks. A path is long, so it is
  /// there only if the frame before had another file.
  void add_place(const char* file, std::uintptr_t offset) {
    const char* const slash = file == last_ ? std::strrchr(last_, '/') : nullptr;
    last_ = file;
    add_name(slash != nullptr ? slash + 1 : file, offset);
  }
  /// " (main+0x56)".
  void add_function(const char* name, std::uintptr_t offset) {
    add(" (");
    add_name(name, offset);
    add(")");
  }

 private:
  void add_name(const char* name, std::uintptr_t offset) {
    char* const begin = end_;
    add("{}+{:#x}", name, offset);
    // A frame is a line: no name begins one.
    std::replace_if(
        begin, end_, [](char letter) { return static_cast<unsigned char>(letter) < ' '; }, '?');
  }

  char bytes_[12 * 1024] = "";
  char* end_ = bytes_;
  const char* last_ = nullptr;  ///< file of the frame before
};

struct Frames {
  std::uintptr_t places[most_frames];  ///< within the instruction that is meant
  int count = 0;
};

inline _Unwind_Reason_Code note_frame(_Unwind_Context* context, void* argument) {
  auto& frames = *static_cast<Frames*>(argument);
  if (frames.count == most_frames) {
    return _URC_END_OF_STACK;
  }
  int is_before = 0;
  const std::uintptr_t place = _Unwind_GetIPInfo(context, &is_before);
  frames.places[frames.count++] = is_before != 0 || place == 0 ? place : place - 1;
  return _URC_NO_REASON;
}

inline std::uintptr_t stack_pointer(const ucontext_t& context) {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
#else
  return context.uc_mcontext.sp;
#endif
}

inline std::uintptr_t instruction(const ucontext_t& context) {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
#else
  return context.uc_mcontext.pc;
#endif
}

/// "\n  #0 " and what `describe` adds of a place, for each frame from the one that crashed on. By
/// the handler, on the crashed thread.
template <class Describe>
void add_backtrace(CrashText& text, ucontext_t& context, Describe&& describe) {
  int number = 0;
  const auto print = [&](std::uintptr_t place) {
    text.add("\n  #{} ", number++);
    describe(place);
  };
#if defined(__x86_64__)
  Dl_info file{};
  greg_t* const registers = context.uc_mcontext.gregs;
  const greg_t saved[2] = {registers[REG_RIP], registers[REG_RSP]};
  if (dladdr(reinterpret_cast<void*>(registers[REG_RIP]), &file) == 0) {
    // A call to where there is no code, from where nothing can be unwound: the stack has the
    // caller.
    print(static_cast<std::uintptr_t>(registers[REG_RIP]));
    registers[REG_RIP] = *reinterpret_cast<greg_t*>(registers[REG_RSP]) - 1;
    registers[REG_RSP] += static_cast<greg_t>(sizeof(greg_t));
  }
#endif
  Frames frames;
  _Unwind_Backtrace(note_frame, &frames);
  const std::uintptr_t place = instruction(context);
#if defined(__x86_64__)
  registers[REG_RIP] = saved[0];  // a core dump is of the crash
  registers[REG_RSP] = saved[1];
#endif
  int first = 0;
  while (first < frames.count && frames.places[first] != place) {
    ++first;  // our own, and the kernel's way into it
  }
  for (int i = first; i < frames.count && frames.places[i] != 0; ++i) {
    print(frames.places[i]);
  }
}

/// What was not there or not allowed. Of an address that no process can have, and of a fault that
/// is about none, the kernel tells no address (SI_KERNEL).
inline void add_address(CrashText& text, const siginfo_t& info) {
  if (info.si_code != SI_KERNEL) {
    text.add(" at address {:#x}", reinterpret_cast<std::uintptr_t>(info.si_addr));
  }
}

/// Whatever the program has made of the signal.
inline void die_of(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
}

/// Telling takes milliseconds; the run-time linker may be asked for a lock that another thread, or
/// the crash, keeps for ever.
inline void die_at_the_latest(int signal) {
  constexpr unsigned most_seconds = 10;
  static int dies_of = 0;
  dies_of = signal;
  struct sigaction action {};
  action.sa_handler = [](int) { die_of(dies_of); };
  sigaction(SIGALRM, &action, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  alarm(most_seconds);
}

enum class Turn { tells, tells_the_rest };

/// The first one tells; a thread that crashes meanwhile waits for the end. Telling itself may
/// crash, when the stack or the registers are spoilt: then what there is must do.
inline Turn take_turn(int signal) {
  static std::atomic<int> teller{0};
  const int me = static_cast<int>(syscall(SYS_gettid));
  int other = 0;
  if (teller.compare_exchange_strong(other, me, std::memory_order_relaxed)) {
    die_at_the_latest(signal);
    return Turn::tells;
  }
  while (other != me) {  // NOLINT(bugprone-infinite-loop): until it dies
    syscall(SYS_pause);
  }
  return Turn::tells_the_rest;
}

}  // namespace meantime::ranks
