/* What libc gives back in one place of the process lies in one of the rank: the other ranks call
   the same function before it is looked at. Prints " No Errors" or what is wrong. */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <mpi.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int errors, rank;

static void check(int right, const char* what) {
  if (!right) {
    errors++;
    fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
  }
}
static void others(void) {
  MPI_Barrier(MPI_COMM_WORLD);
}

static void users(void) {
  /* Rank by rank another one, as far as there are some. */
  struct passwd* user = NULL;
  for (uid_t number = (uid_t)(rank % 5); user == NULL && number < 99; number++)
    user = getpwuid(number);
  others();
  if (user != NULL) {
    const uid_t number = user->pw_uid;
    char name[100];
    snprintf(name, sizeof name, "%s", user->pw_name);
    user = getpwnam(name);
    others();
    check(user != NULL && user->pw_uid == number && strcmp(user->pw_name, name) == 0, "getpwnam");
  } else {
    others();
  }
  struct group* group = NULL;
  for (gid_t number = (gid_t)(rank % 5); group == NULL && number < 99; number++)
    group = getgrgid(number);
  others();
  if (group != NULL) {
    char name[100];
    const gid_t number = group->gr_gid;
    snprintf(name, sizeof name, "%s", group->gr_name);
    group = getgrnam(name);
    others();
    check(group != NULL && group->gr_gid == number && strcmp(group->gr_name, name) == 0,
          "getgrnam");
  } else {
    others();
  }
  errno = 0;
  check(getpwnam("nobody-has-this-name") == NULL, "no user");
}

static void network(void) {
  char text[20];
  snprintf(text, sizeof text, "127.0.0.%d", rank % 200 + 1);
  struct hostent* const host = gethostbyname(text);
  others();
  check(host != NULL && host->h_length == 4 &&
            ntohl(*(uint32_t*)host->h_addr_list[0]) == 0x7f000001u + (unsigned)(rank % 200),
        "gethostbyname");
  snprintf(text, sizeof text, "0:1:2:3:4:%x", rank % 200);
  struct ether_addr* const address = ether_aton(text);
  others();
  char* const back = ether_ntoa(address);
  others();
  check(strcmp(back, text) == 0, "ether_ntoa");
}

static void texts(void) {
  int point, sign;
  char* const digits = ecvt(1.0 + rank % 8, 3, &point, &sign);
  others();
  char expected[40];
  snprintf(expected, sizeof expected, "%d00", 1 + rank % 8);
  check(strcmp(digits, expected) == 0 && point == 1 && !sign, "ecvt");
  char* const number = l64a(1000 + rank);
  others();
  check(a64l(number) == 1000 + rank, "l64a");
  char* const reason = strerror(1000 + rank);
  others();
  snprintf(expected, sizeof expected, "Unknown error %d", 1000 + rank);
  check(strcmp(reason, expected) == 0, "strerror");
  char* const signal_name = strsignal(1000 + rank);
  others();
  snprintf(expected, sizeof expected, "Unknown signal %d", 1000 + rank);
  check(strcmp(signal_name, expected) == 0, "strsignal");
  const int terminal = posix_openpt(2);
  char* const name = terminal >= 0 ? ptsname(terminal) : NULL;
  others();
  char own[100];
  check(name == NULL || (ptsname_r(terminal, own, sizeof own) == 0 && strcmp(own, name) == 0),
        "ptsname");
  if (terminal >= 0) close(terminal);
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 3; i++) {
    users();
    network();
    texts();
  }
  MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0 && errors == 0) printf(" No Errors\n");
  return errors != 0;
}
