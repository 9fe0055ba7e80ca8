// A rank that crashes takes its host with it; mpiexec is told which one it was, of what, and where.
// The handler takes no memory and waits for no lock of libc's allocator: the rank may have crashed
// in malloc.
#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <utility>

#include "host/rank_state.h"
#include "rank/host.h"

namespace meantime::host {

using Handler = void (*)(int);

namespace {

constexpr std::size_t signal_stack_bytes = 256 * 1024;
constexpr int most_frames = 40;
/// Telling takes milliseconds; a crash in the run-time linker could keep a lock that it needs.
constexpr unsigned most_seconds = 10;

/// A text of limited length.
class Text {
 public:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    const auto room = static_cast<std::size_t>(bytes_ + sizeof bytes_ - 1 - end_);
    const auto done = fmt::format_to_n(end_, room, format, std::forward<Values>(values)...);
    end_ = done.out;
    *end_ = '\0';
  }
  const char* text() const { return bytes_; }

 private:
  char bytes_[12 * 1024] = "";
  char* end_ = bytes_;
};

struct Frames {
  std::uintptr_t places[most_frames];  ///< within the instruction that is meant
  int count = 0;
};

_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* argument) {
  auto& frames = *static_cast<Frames*>(argument);
  if (frames.count == most_frames) {
    return _URC_END_OF_STACK;
  }
  int is_before = 0;
  const std::uintptr_t place = _Unwind_GetIPInfo(context, &is_before);
  frames.places[frames.count++] = is_before != 0 || place == 0 ? place : place - 1;
  return _URC_NO_REASON;
}

/// "/home/me/stencil+0x1234 (main+0x56)": the first is what addr2line wants, which mpiexec asks. A
/// path is long, so it is there only if the frame before had another file (`last`).
void describe(Text& text, const RankState& rank, std::uintptr_t place, const char*& last) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(place), &info) == 0 || info.dli_fname == nullptr) {
    text.add("{:#x}", place);
    return;
  }
  const char* const slash = info.dli_fname == last ? std::strrchr(last, '/') : nullptr;
  last = info.dli_fname;
  const std::uintptr_t offset = place - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  text.add("{}+{:#x}", slash != nullptr ? slash + 1 : info.dli_fname, offset);
  const int member = rank.image.member_of_base(info.dli_fbase);
  ElfTemplate::Function function;
  if (member >= 0) {
    function =
        rank.program->closure.members[static_cast<std::size_t>(member)]->file.function_at(offset);
  } else if (info.dli_sname != nullptr) {
    function = {info.dli_sname, reinterpret_cast<std::uintptr_t>(info.dli_saddr) -
                                    reinterpret_cast<std::uintptr_t>(info.dli_fbase)};
  }
  if (function.name != nullptr) {
    text.add(" ({}+{:#x})", function.name, offset - function.address);
  }
}

/// The handler never returns to that context, so it may be changed.
void describe_backtrace(Text& text, const RankState& rank, ucontext_t& context) {
  int number = 0;
  const char* last = nullptr;
  const auto print = [&](std::uintptr_t place) {
    text.add("\n  #{} ", number++);
    describe(text, rank, place, last);
  };
  greg_t* const registers = context.uc_mcontext.gregs;
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(registers[REG_RIP]), &info) == 0) {
    // A call to where there is no code, from where nothing can be unwound: the stack has the
    // caller.
    print(static_cast<std::uintptr_t>(registers[REG_RIP]));
    registers[REG_RIP] = *reinterpret_cast<greg_t*>(registers[REG_RSP]) - 1;
    registers[REG_RSP] += static_cast<greg_t>(sizeof(greg_t));
  }
  Frames frames;
  _Unwind_Backtrace(note_frame, &frames);
  const auto place = static_cast<std::uintptr_t>(registers[REG_RIP]);
  int first = 0;
  while (first < frames.count && frames.places[first] != place) {
    ++first;  // our own, and the kernel's way into it
  }
  for (int i = first; i < frames.count && frames.places[i] != 0; ++i) {
    print(frames.places[i]);
  }
}

/// libc's signal is not ours to call: a rank's stands in front of it.
void take_back(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
}

enum class Turn { tells, tells_the_rest };

/// The first one tells; a rank that crashes meanwhile waits for the end. Telling itself may crash,
/// when the stack or the registers are spoilt: then what there is must do.
Turn take_turn() {
  static std::atomic<int> teller{0};
  const int me = static_cast<int>(syscall(SYS_gettid));
  int other = 0;
  if (teller.compare_exchange_strong(other, me, std::memory_order_relaxed)) {
    return Turn::tells;
  }
  while (other != me) {
    syscall(SYS_pause);
  }
  return Turn::tells_the_rest;
}

/// No access is allowed to so many bytes below each rank's stack.
std::size_t guard_below_stack = 0;

/// Of the calling thread, if a rank started it: the lowest address of its stack.
thread_local std::uintptr_t thread_stack_low = 0;

/// A large frame may lie beyond the guard, whose size only libc and the program know: so the stack
/// pointer tells.
bool is_below_stack_of_thread(const siginfo_t& info, const ucontext_t& context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  const auto pointer = static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
  return pointer < thread_stack_low + elf::page && address < thread_stack_low &&
         address + elf::page > pointer;
}

void tell(const RankState& rank, int signal, const siginfo_t& info, ucontext_t& context) {
  static Text text;
  static int told_signal = 0;  // both the teller's only
  if (take_turn() == Turn::tells) {
    alarm(most_seconds);
    told_signal = signal;
    const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
    const auto low = reinterpret_cast<std::uintptr_t>(rank.stack_low);
    if (signal == SIGSEGV && info.si_code > 0) {
      if (address + guard_below_stack >= low && address < low + 4096) {
        text.add(": its stack is full: it is as large as ulimit -s says (use a larger one)");
      } else if (is_below_stack_of_thread(info, context)) {
        text.add(
            ": the stack of a thread of it is full: it is as large as OMP_STACKSIZE, the program "
            "or ulimit -s says (use a larger one)");
      } else {
        text.add(" at address {:#x}", address);
      }
    }
    // SIGPIPE is the end of "mpiexec ... | head", and no error of the program.
    if (signal != SIGPIPE) {
      describe_backtrace(text, rank, context);
    }
  } else {
    take_back(signal);
    text.add("\n  (and no more can be read of its stack)");
  }
  meantime_host_tell_end(rank.world_rank, 0, told_signal, text.text());
}

bool ends_by_default(int signal) {
  switch (signal) {
    case SIGCHLD:
    case SIGCONT:
    case SIGURG:
    case SIGWINCH:
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
      return false;
    default:
      return signal > 0 && signal <= SIGRTMAX;
  }
}

bool is_blocked_here(int signal) {
  sigset_t mask;
  return pthread_sigmask(SIG_BLOCK, nullptr, &mask) == 0 && sigismember(&mask, signal) == 1;
}

/// The calling rank sends a signal to itself. One that nobody catches ends the host, which could
/// not say any more by whom.
void tell_of_own(int signal) {
  struct sigaction action {};
  if (ends_by_default(signal) && !is_blocked_here(signal) &&
      sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL &&
      take_turn() == Turn::tells) {
    meantime_host_tell_end(mine()->world_rank, 0, signal, "");
  }
}

// Libc's own. Looked up before anybody may need them in a handler of a signal, where the run-time
// linker may be what was interrupted.
auto* real_raise() {
  MEANTIME_REAL(raise);
  return real;
}
auto* real_kill() {
  MEANTIME_REAL(kill);
  return real;
}
auto* real_pthread_kill() {
  MEANTIME_REAL(pthread_kill);
  return real;
}

int raise_here(int signal) {
  if (mine() != nullptr) {
    tell_of_own(signal);
  }
  return real_raise()(signal);
}

void on_crash(int signal, siginfo_t* info, void* context) {
  if (const RankState* const rank = mine(); rank != nullptr) {
    tell(*rank, signal, *info, *static_cast<ucontext_t*>(context));
  }
  take_back(signal);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
}

}  // namespace

/// Ours of the calling thread: a program may have set another one since.
static thread_local void* signal_stack = nullptr;

void prepare_thread_for_crashes() {
  void* place = mmap(nullptr, signal_stack_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place != MAP_FAILED) {
    const stack_t stack{place, 0, signal_stack_bytes};
    if (sigaltstack(&stack, nullptr) == 0) {
      signal_stack = place;
    } else {
      munmap(place, signal_stack_bytes);
    }
  }
}

void prepare_started_thread_for_crashes() {
  prepare_thread_for_crashes();
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* low = nullptr;
    std::size_t bytes = 0;
    pthread_attr_getstack(&attributes, &low, &bytes);
    thread_stack_low = reinterpret_cast<std::uintptr_t>(low);
    pthread_attr_destroy(&attributes);
  }
}

void release_thread_from_crashes() {
  if (signal_stack == nullptr) {
    return;
  }
  stack_t stack{};
  if (sigaltstack(nullptr, &stack) == 0 && stack.ss_sp == signal_stack) {
    const stack_t none{nullptr, SS_DISABLE, 0};
    sigaltstack(&none, nullptr);
  }
  munmap(std::exchange(signal_stack, nullptr), signal_stack_bytes);
}

void catch_crashes(std::size_t guard_bytes) {
  guard_below_stack = guard_bytes;
  real_raise();
  real_kill();
  real_pthread_kill();
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) {
    sigaction(signal, &action, nullptr);
  }
  // What the kernel sends to whoever wrote, or called; unless mpiexec's own parent wants none.
  for (int signal : {SIGPIPE, SIGXFSZ, SIGSYS}) {
    struct sigaction inherited {};
    sigaction(signal, nullptr, &inherited);
    if (inherited.sa_handler == SIG_DFL) {
      sigaction(signal, &action, nullptr);
    }
  }
}

}  // namespace meantime::host

// Programs that import it are refused, so this is a run-time library's: Fortran's would catch
// crashes, for the whole process and without knowing of ranks. on_crash stays.
MEANTIME_IN_FRONT meantime::host::Handler signal(int number,
                                                 meantime::host::Handler handler) noexcept {
  if (meantime::host::mine() != nullptr) {
    return SIG_DFL;
  }
  MEANTIME_REAL(signal);
  return real(number, handler);
}

MEANTIME_IN_FRONT int raise(int signal) noexcept {
  return meantime::host::raise_here(signal);
}

// To the process is to whichever of its threads the kernel takes; a rank's is to the rank.
MEANTIME_IN_FRONT int kill(pid_t process, int signal) noexcept {
  if (process == getpid() && meantime::host::mine() != nullptr && signal > 0 &&
      !meantime::host::is_blocked_here(signal)) {
    return meantime::host::raise_here(signal);
  }
  return meantime::host::real_kill()(process, signal);
}

MEANTIME_IN_FRONT int pthread_kill(pthread_t thread, int signal) noexcept {
  if (meantime::host::mine() != nullptr && pthread_equal(thread, pthread_self()) != 0) {
    meantime::host::tell_of_own(signal);
  }
  return meantime::host::real_pthread_kill()(thread, signal);
}
