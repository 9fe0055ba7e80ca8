/* Variables of libc and libm are each rank's own, or right: signgam, the time zone, the program's
   name. Prints " No Errors" or what is wrong. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#else
static char __libc_single_threaded = 1;
#endif

static int errors, rank;

static void check(int right, const char* what) {
  if (!right) {
    errors++;
    fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
  }
}
static void* nothing(void* argument) {
  check(rank < 0 || !__libc_single_threaded || argument == NULL, "single-threaded, in a thread");
  return argument;
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int odd = rank % 2;
  volatile double value = odd ? -0.5 : 0.5; /* gamma(-0.5) is negative */
  char zone[20];
  snprintf(zone, sizeof zone, "AAA%d", rank % 12);
  setenv("TZ", zone, 1);
  tzset();
  for (int i = 0; i < 20; i++) {
    const double result = i % 3 == 0   ? lgamma(value)
                          : i % 3 == 1 ? lgammaf((float)value)
                                       : (double)lgammal(value);
    MPI_Barrier(MPI_COMM_WORLD);
    check(signgam == (odd ? -1 : 1) && fabs(result - log(fabs(tgamma(value)))) < 1e-5, "signgam");
    check(timezone == 3600 * (rank % 12) && strcmp(tzname[0], "AAA") == 0 && !daylight, "timezone");
    const time_t day = 86400 * 100 + 43200;
    struct tm here;
    localtime_r(&day, &here);
    MPI_Barrier(MPI_COMM_WORLD);
    check(here.tm_hour == 12 - rank % 12 && localtime(&day)->tm_hour == here.tm_hour, "localtime");
    char text[40];
    check(strftime(text, sizeof text, "%Z %H", &here) > 0 && strncmp(text, "AAA ", 4) == 0 &&
              atoi(text + 4) == 12 - rank % 12,
          "strftime");
    check(mktime(&here) == day && strcmp(getenv("TZ"), zone) == 0, "mktime");
    check(strncmp(ctime(&day) + 11, text + 4, 2) == 0, "ctime");
  }
  if (odd) {
    setenv("TZ", "BBB-3CCC", 1);
    tzset();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  check(odd ? daylight && timezone == -10800 && strcmp(tzname[1], "CCC") == 0
            : !daylight && timezone == 3600 * (rank % 12),
        "another time zone");
  check(strcmp(program_invocation_name, words[0]) == 0, "program_invocation_name");
  check(strcmp(program_invocation_short_name, strrchr(words[0], '/') + 1) == 0,
        "program_invocation_short_name");
  program_invocation_name = odd ? "odd" : "even";
  MPI_Barrier(MPI_COMM_WORLD);
  check(strcmp(program_invocation_name, odd ? "odd" : "even") == 0, "a program's other name");
  /* True before, if this is so in libc; false since there was a thread, in this rank. */
  pthread_t made;
  if (odd && pthread_create(&made, NULL, nothing, &count) == 0) {
    check(!__libc_single_threaded, "single-threaded with a thread");
    pthread_join(made, NULL);
  }
  MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0 && errors == 0) printf(" No Errors\n");
  return errors != 0;
}
