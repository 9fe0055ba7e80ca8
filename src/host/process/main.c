/* The program that carries thread ranks. All it is for is the block of thread-local memory: the
   executable's own lies right below the thread pointer, which is where each rank's program,
   compiled and linked as an executable, expects its thread-local variables. Every rank has a
   control block of its own, so each finds its own there. What the host does is in
   libmeantime_host.so, because this file may have no other thread-local data. */
#include "protocol/host_main.h"

#ifndef MEANTIME_PROGRAM_TLS
#define MEANTIME_PROGRAM_TLS MEANTIME_LEAST_PROGRAM_TLS
#define MEANTIME_PROGRAM_TLS_ALIGNMENT 64
#endif
__attribute__((aligned(
    MEANTIME_PROGRAM_TLS_ALIGNMENT))) static _Thread_local char program_tls[MEANTIME_PROGRAM_TLS];

/* Where a debugger waits for the ranks' images (tools/gdb/meantime.py). */
__attribute__((noinline)) void meantime_host_loading(void) {
  __asm__ volatile("");
}
__attribute__((noinline)) void meantime_host_loaded(void) {
  __asm__ volatile("");
}

#ifdef MEANTIME_ADDRESS_SANITIZER
/* It is up before all libraries: they call the host's interposed functions, and those are
   instrumented. And it is not the first library, but behind the host's (CMakeLists.txt). */
extern void __asan_init(void);
__attribute__((section(".preinit_array"), used)) static void (*const begin)(void) = __asan_init;

const char* __asan_default_options(void) {
  return "verify_asan_link_order=0";
}
#endif

#ifdef MEANTIME_THREAD_SANITIZER
/* For the same reasons. */
extern void __tsan_init(void);
__attribute__((section(".preinit_array"), used)) static void (*const begin)(void) = __tsan_init;
#endif

int main(int count, char** words) {
  return meantime_host_main(count, words, program_tls, sizeof program_tls);
}
