// What a rank's program finds by dlsym is what it would find in a process of its own: its own
// copies come first, and "next" means the next of its own libraries, then those that all ranks
// share.
#include "host/interpose/lookup.h"

#include <dlfcn.h>

#include "host/process/rank_state.h"

namespace meantime::host {
namespace {

/// In which of the rank's copies the caller is, or -1.
int member_of(const RankState& rank, const void* place) {
  Dl_info info{};
  return dladdr(place, &info) != 0 ? rank.image.member_of_base(info.dli_fbase) : -1;
}

void* find(void* handle, const char* name, const char* version, const void* caller) {
  const RankState* const rank = mine();
  if (rank != nullptr && (handle == RTLD_DEFAULT || handle == RTLD_NEXT)) {
    const int first = handle == RTLD_NEXT ? member_of(*rank, caller) + 1 : 0;
    if (void* const found = rank->image.find(rank->program->closure, name, first, version)) {
      return found;
    }
    handle = RTLD_DEFAULT;  // of this library: what is shared, with what is interposed
  }
  // libc looks where its caller returns to, which must not be what a jump instead of a call leaves.
  void* volatile found = version != nullptr ? dlvsym(handle, name, version) : dlsym(handle, name);
  return found;
}

}  // namespace
}  // namespace meantime::host

void* find_for_rank(void* handle, const char* name) {
  return meantime::host::find(handle, name, nullptr, __builtin_return_address(0));
}

void* find_with_version_for_rank(void* handle, const char* name, const char* version) {
  return meantime::host::find(handle, name, version, __builtin_return_address(0));
}

asm(R"(
.pushsection .text
.globl meantime_thread_descriptor
.hidden meantime_thread_descriptor
.type meantime_thread_descriptor, @function
.p2align 4
meantime_thread_descriptor:
  .cfi_startproc
  movq 8(%rax), %rax
  ret
  .cfi_endproc
.size meantime_thread_descriptor, . - meantime_thread_descriptor
.popsection
)");
