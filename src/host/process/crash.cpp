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

#include <csignal>
#include <utility>

#include "host/process/rank_state.h"
#include "protocol/host_interface.h"
#include "symbolize/backtrace.h"

namespace meantime::host {

using Handler = void (*)(int);

namespace {

constexpr std::size_t signal_stack_bytes = 256 * 1024;

using ranks::Turn;
using Text = ranks::CrashText;

/// "/home/me/stencil+0x1234 (main+0x56)".
void describe(Text& text, const RankState& rank, std::uintptr_t place) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(place), &info) == 0 || info.dli_fname == nullptr) {
    text.add("{:#x}", place);
    return;
  }
  const std::uintptr_t offset = place - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  text.add_place(info.dli_fname, offset);
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
    text.add_function(function.name, offset - function.address);
  }
}

/// libc's signal is not ours to call: a rank's is interposed.
void take_back(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
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

void say_where(Text& text, const RankState& rank, int signal, const siginfo_t& info,
               ucontext_t& context) {
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
      ranks::add_address(text, info);
    }
  }
  // SIGPIPE is the end of "mpiexec ... | head", and no error of the program.
  if (signal != SIGPIPE) {
    ranks::add_backtrace(text, context, [&](std::uintptr_t place) { describe(text, rank, place); });
  }
}

void tell(const RankState& rank, int signal, const siginfo_t& info, ucontext_t& context) {
  static Text text;
  static int told_signal = 0;  // both the teller's only
  if (ranks::take_turn(signal) == Turn::tells) {
    told_signal = signal;
    if (meantime_host_says_where() != 0) {
      say_where(text, rank, signal, info, context);
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
      ranks::take_turn(signal) == Turn::tells) {
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
  ranks::die_of(signal);
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
MEANTIME_INTERPOSED meantime::host::Handler signal(int number,
                                                   meantime::host::Handler handler) noexcept {
  if (meantime::host::mine() != nullptr) {
    return SIG_DFL;
  }
  MEANTIME_REAL(signal);
  return real(number, handler);
}

MEANTIME_INTERPOSED int raise(int signal) noexcept {
  return meantime::host::raise_here(signal);
}

// To the process is to whichever of its threads the kernel takes; a rank's is to the rank.
MEANTIME_INTERPOSED int kill(pid_t process, int signal) noexcept {
  if (process == getpid() && meantime::host::mine() != nullptr && signal > 0 &&
      !meantime::host::is_blocked_here(signal)) {
    return meantime::host::raise_here(signal);
  }
  return meantime::host::real_kill()(process, signal);
}

MEANTIME_INTERPOSED int pthread_kill(pthread_t thread, int signal) noexcept {
  if (meantime::host::mine() != nullptr && pthread_equal(thread, pthread_self()) != 0) {
    meantime::host::tell_of_own(signal);
  }
  return meantime::host::real_pthread_kill()(thread, signal);
}
