#include "core/error/crash.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "core/start/task.h"
#include "node/control_client.h"
#include "symbolize/backtrace.h"

namespace meantime::core {
namespace {

constexpr std::size_t signal_stack_bytes = 128 * 1024;
/// How far below the stack pointer a full stack is noticed: a frame's first access.
constexpr std::uintptr_t longest_frame = 64 * 1024;

// What the handler needs; set before it is in place.
node::ControlClient* mpiexec = nullptr;
pid_t rank_process = 0;
bool is_task_s = false;   ///< the rank's: another launcher has started it
char program[4096] = "";  ///< the linker knows it as it was called, from wherever that was

/// "/home/me/stencil+0x1234 (main+0x56)".
void describe(ranks::CrashText& text, std::uintptr_t place) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(place), &info) == 0 || info.dli_fname == nullptr) {
    text.add("{:#x}", place);
    return;
  }
  // A program that is not position-independent has the addresses that it was linked for.
  const bool is_fixed = static_cast<const ElfW(Ehdr)*>(info.dli_fbase)->e_type == ET_EXEC;
  const bool has_path = info.dli_fname[0] == '/' || program[0] == '\0';
  text.add_place(has_path ? info.dli_fname : program,
                 place - (is_fixed ? 0 : reinterpret_cast<std::uintptr_t>(info.dli_fbase)));
  if (info.dli_sname != nullptr) {
    text.add_function(info.dli_sname, place - reinterpret_cast<std::uintptr_t>(info.dli_saddr));
  }
}

void tell(int signal, const siginfo_t& info, ucontext_t& context) {
  static ranks::CrashText text;
  static int told_signal = 0;  // both the teller's only
  if (ranks::take_turn(signal) == ranks::Turn::tells) {
    told_signal = signal;
    if (signal == SIGSEGV && info.si_code > 0) {
      const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
      const std::uintptr_t pointer = ranks::stack_pointer(context);
      if (address < pointer + 4096 && address + longest_frame > pointer) {
        text.add(
            ": its stack is full: it is as large as ulimit -s says, or whoever made the thread");
      } else {
        ranks::add_address(text, info);
      }
    }
    ranks::add_backtrace(text, context, [](std::uintptr_t place) { describe(text, place); });
  } else {
    text.add("\n  (and no more can be read of its stack)");
  }
  if (mpiexec->crashed(told_signal, text.text()) && is_task_s) {
    static_cast<void>(mpiexec->wait_to_be_ended());
  }
}

// A fault happens again when the handler has returned, and then kills: so a core dump is of the
// crash itself. What was sent (abort, kill) is sent again, and kills here. A child has the handler,
// too, until it runs another program: its crash is none of the rank's.
void on_crash(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  if (getpid() == rank_process) {
    tell(signal, *info, *static_cast<ucontext_t*>(context));
  }
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  if (info->si_code <= 0) {
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
  }
  errno = saved_errno;
}

}  // namespace

void catch_crashes(std::shared_ptr<node::ControlClient> control) {
  static const auto& kept = *new std::shared_ptr<node::ControlClient>(std::move(control));
  mpiexec = kept.get();
  rank_process = getpid();
  is_task_s = is_child_of_task();
  if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) {
    program[0] = '\0';
  }
  stack_t stack{};
  if (sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE) != 0) {
    void* const place = mmap(nullptr, signal_stack_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    stack = {place, 0, signal_stack_bytes};
    if (place != MAP_FAILED) {
      sigaltstack(&stack, nullptr);
    }
  }
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    struct sigaction had {};
    if (sigaction(signal, nullptr, &had) == 0 && (had.sa_flags & SA_SIGINFO) == 0 &&
        had.sa_handler == SIG_DFL) {
      sigaction(signal, &action, nullptr);
    }
  }
}

}  // namespace meantime::core
