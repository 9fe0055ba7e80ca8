// A rank that crashes takes its host with it; mpiexec is told which one it was, of what, and where.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include <csignal>
#include <cstring>
#include <string>

#include "host/rank_state.h"
#include "rank/host.h"

namespace meantime::host {
namespace {

constexpr std::size_t signal_stack_bytes = 256 * 1024;
constexpr int most_frames = 40;

struct Frames {
  std::uintptr_t places[most_frames];
  int count = 0;
};

_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* argument) {
  auto& frames = *static_cast<Frames*>(argument);
  if (frames.count == most_frames) {
    return _URC_END_OF_STACK;
  }
  frames.places[frames.count++] = _Unwind_GetIP(context);
  return _URC_NO_REASON;
}

/// "stencil+0x1234 (main)": the address is what addr2line wants.
std::string describe(const RankState& rank, std::uintptr_t place) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(place), &info) == 0 || info.dli_fname == nullptr) {
    return fmt::format("{:#x}", place);
  }
  const int member = rank.image.member_of_base(info.dli_fbase);
  std::string file = member >= 0
                         ? program().closure.members[static_cast<std::size_t>(member)]->file.path()
                         : info.dli_fname;
  file = file.substr(file.rfind('/') + 1);
  const std::uintptr_t base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  std::string text = fmt::format("{}+{:#x}", file, place - base);
  if (info.dli_sname != nullptr) {
    text += fmt::format(" ({})", info.dli_sname);
  }
  return text;
}

// Not all of this is allowed in a signal handler; a process that crashes has nothing to lose, and
// without it the user would not learn which of a thousand ranks it was.
void on_crash(int signal, siginfo_t* info, void*) {
  std::signal(signal, SIG_DFL);
  if (const RankState* rank = mine(); rank != nullptr) {
    std::string text;
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    const auto low = reinterpret_cast<std::uintptr_t>(rank->stack_low);
    if (signal == SIGSEGV && info->si_code > 0) {
      if (address + MEANTIME_HOST_GUARD_BYTES >= low && address < low + 4096) {
        text = ": its stack is full: it is as large as ulimit -s says (use a larger one)";
      } else {
        text = fmt::format(" at address {:#x}", address);
      }
    }
    Frames frames;
    _Unwind_Backtrace(note_frame, &frames);
    constexpr int own = 2;  // this function and the kernel's way into it
    for (int i = own; i < frames.count && frames.places[i] != 0; ++i) {
      text += fmt::format("\n  #{} {}", i - own, describe(*rank, frames.places[i] - 1));
    }
    meantime_host_tell_end(rank->world_rank, 0, signal, text.c_str());
  }
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
}

}  // namespace

void prepare_thread_for_crashes() {
  void* place = mmap(nullptr, signal_stack_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place != MAP_FAILED) {
    const stack_t stack{place, 0, signal_stack_bytes};
    sigaltstack(&stack, nullptr);
  }
}

void catch_crashes() {
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) {
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace meantime::host
