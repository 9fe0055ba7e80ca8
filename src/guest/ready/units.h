// How a guest counts its work, in ten lines for anybody's: MEANTIME_GUEST_UNITS names eight bytes,
// a number that it adds to. Without that, run by hand, it prints what it has done at its end.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static volatile sig_atomic_t told_to_end = 0;

static void on_interrupt(int signal) {
  (void)signal;
  told_to_end = 1;
}

/// The counter. SIGINT sets `told_to_end`.
static volatile uint64_t* counted_units(void) {
  static uint64_t own;
  const char* path = getenv("MEANTIME_GUEST_UNITS");
  const int file = path != NULL ? open(path, O_RDWR) : -1;
  void* place =
      file >= 0 ? mmap(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  signal(SIGINT, on_interrupt);
  return place != MAP_FAILED ? (uint64_t*)place : &own;
}

/// 0, and what was done if nobody else knows.
static int done(const volatile uint64_t* units) {
  if (getenv("MEANTIME_GUEST_UNITS") == NULL) {
    printf("units %llu\n", (unsigned long long)*units);
  }
  return 0;
}
