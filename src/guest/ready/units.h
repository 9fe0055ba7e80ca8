// What the ready guests have in common: each has `prepare`, 0 if it can work, and `work`, a piece
// of a microsecond or so, which returns the units that it did. Compiled as programs they work until
// SIGINT, and count as anybody's can, in ten lines: MEANTIME_GUEST_UNITS names eight bytes, a
// number that they add to. Without that, run by hand, they print what they have done at the end.
// Compiled with AS_FUNCTION they are libraries for `--guest func:` (guest/function.h).
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static int prepare(void);
static uint64_t work(void);

#ifdef AS_FUNCTION

unsigned long extrawork_slice_ns = 10000;
unsigned long extrawork_units;

static int is_ready;

static uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void setup_extrawork(void) {
  is_ready = prepare() == 0;
}

void do_extrawork(void) {
  const uint64_t end = now_ns() + extrawork_slice_ns;
  do {
    extrawork_units += is_ready ? work() : 0;
  } while (now_ns() < end);
}

#else

static volatile sig_atomic_t told_to_end = 0;

static void on_interrupt(int signal) {
  (void)signal;
  told_to_end = 1;
}

int main(void) {
  static uint64_t own;
  const char* path = getenv("MEANTIME_GUEST_UNITS");
  const int file = path != NULL ? open(path, O_RDWR) : -1;
  void* place =
      file >= 0 ? mmap(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  volatile uint64_t* const units = place != MAP_FAILED ? (uint64_t*)place : &own;
  signal(SIGINT, on_interrupt);
  if (prepare() != 0) {
    return 1;
  }
  while (!told_to_end) {
    *units += work();
  }
  if (path == NULL) {
    printf("units %llu\n", (unsigned long long)*units);
  }
  return 0;
}

#endif
