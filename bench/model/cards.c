/* What it takes a task to read what all tasks of other nodes have told a launcher's PMIx servers,
   one by one, as meantime-wire-up does: a line for each task. No MPI. */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

static long resident_kib(void) {
  char text[256];
  long value = 0;
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  while (file != NULL && fgets(text, sizeof text, file) != NULL &&
         sscanf(text, "Rss: %ld", &value) != 1) {
  }
  fclose(file);
  return value;
}

static void check(pmix_status_t status, const char* what) {
  if (status != PMIX_SUCCESS) {
    fprintf(stderr, "cards: %s: %s\n", what, PMIx_Error_string(status));
    exit(1);
  }
}

int main(int argc, char** argv) {
  const int bytes = argc > 1 ? atoi(argv[1]) : 200;
  pmix_proc_t self;
  double start = now();
  check(PMIx_Init(&self, NULL, 0), "PMIx_Init");
  const double init = now() - start;
  pmix_proc_t whom = self;
  whom.rank = PMIX_RANK_WILDCARD;
  pmix_value_t* value = NULL;
  check(PMIx_Get(&whom, PMIX_JOB_SIZE, NULL, 0, &value), "its size");
  const int size = (int)value->data.uint32;
  check(PMIx_Get(&whom, PMIX_LOCAL_PEERS, NULL, 0, &value), "its node");
  char near[65536];
  snprintf(near, sizeof near, ",%s,", value->data.string);
  char* card = calloc(1, (size_t)bytes + 1);
  memset(card, 'a', (size_t)bytes);
  pmix_value_t mine = {.type = PMIX_STRING, .data.string = card};
  check(PMIx_Put(PMIX_GLOBAL, "meantime.test", &mine), "PMIx_Put");
  check(PMIx_Commit(), "PMIx_Commit");
  pmix_info_t collects = {0};
  strncpy(collects.key, PMIX_COLLECT_DATA, PMIX_MAX_KEYLEN);
  collects.value.type = PMIX_BOOL;
  collects.value.data.flag = true;
  start = now();
  check(PMIx_Fence(NULL, 0, &collects, 1), "PMIx_Fence");
  const double fence = now() - start;
  const long before = resident_kib();
  int read = 0;
  double first = 0;
  start = now();
  for (int rank = 0; rank < size; rank++) {
    char name[32];
    snprintf(name, sizeof name, ",%d,", rank);
    if (strstr(near, name) != NULL) continue;
    whom.rank = (pmix_rank_t)rank;
    check(PMIx_Get(&whom, "meantime.test", NULL, 0, &value), "a card");
    if (read++ == 0) first = now() - start;
  }
  const double all = now() - start;
  printf(
      "{\"ranks\": %d, \"init\": %.6f, \"fence\": %.6f, \"read\": %d, \"first\": %.6f, \"all\": "
      "%.6f, \"kib\": %ld}\n",
      size, init, fence, read, first, all, resident_kib() - before);
  PMIx_Finalize(NULL, 0);
  return 0;
}
