/* Settings in a program that was started with MEANTIME_WAIT=event: MPIX_Setting_set, _get, and a
 * communicator's info. */
#include <meantime.h>
#include <stdio.h>
#include <string.h>

static int errors = 0;

static void expect(const char* name, const char* value) {
  char text[64] = "";
  int length = sizeof text;
  if (MPIX_Setting_get(name, &length, text) != MPI_SUCCESS || strcmp(text, value) != 0 ||
      length != (int)strlen(value) + 1) {
    printf("%s is '%s' (%d), not '%s'\n", name, text, length, value);
    ++errors;
  }
}

static void expect_class(int code, int wanted, const char* what) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  if (class != wanted) {
    printf("%s: class %d instead of %d\n", what, class, wanted);
    ++errors;
  }
}

/* In what MPI_Error_string says of the last error. */
static void expect_text(const char* part) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(MPI_ERR_ARG, text, &length);
  if (strncmp(text, "MPI_ERR_ARG: ", 13) != 0 || strstr(text, part) == NULL) {
    printf("'%s' is not in the text of the error: %s\n", part, text);
    ++errors;
  }
}

static void hint(MPI_Comm comm, const char* key, const char* value) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, key, value);
  MPI_Comm_set_info(comm, info);
  MPI_Info_free(&info);
}

/* "": none. */
static void expect_hint(MPI_Comm comm, const char* key, const char* expected) {
  char value[16] = "";
  int length = sizeof value, found = 0;
  MPI_Info info;
  MPI_Comm_get_info(comm, &info);
  MPI_Info_get_string(info, key, &length, value, &found);
  MPI_Info_free(&info);
  if (strcmp(value, expected) != 0) {
    printf("a communicator's %s is '%s' instead of '%s'\n", key, value, expected);
    ++errors;
  }
}

static void ring(MPI_Comm comm) {
  int rank, size, got = -1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int i = 0; i < 50; ++i)
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, i, &got, 1, MPI_INT,
                 (rank + size - 1) % size, i, comm, MPI_STATUS_IGNORE);
  MPI_Barrier(comm);
  if (got != (rank + size - 1) % size) ++errors;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  expect("MEANTIME_WAIT", "event");
  expect("MEANTIME_TIMEOUT", "infinity");
  expect("MEANTIME_CMA", "1");
  ring(MPI_COMM_WORLD);

  const char* ways[] = {"poll", "yield", "predicted", "ade", "overprovisioned", "adaptive"};
  for (int i = 0; i < 6; ++i) {
    expect_class(MPIX_Setting_set("MEANTIME_WAIT", ways[i]), MPI_SUCCESS, ways[i]);
    expect("MEANTIME_WAIT", ways[i]);
    ring(MPI_COMM_WORLD);
  }
  expect_class(MPIX_Setting_set("MEANTIME_TRIES_POLL", "7"), MPI_SUCCESS, "tries_poll");
  expect_class(MPIX_Setting_set("MEANTIME_TRIES_YIELD", "3"), MPI_SUCCESS, "tries_yield");
  expect_class(MPIX_Setting_set("MEANTIME_TIMEOUT", "100"), MPI_SUCCESS, "timeout");
  expect("MEANTIME_TRIES_POLL", "7");
  ring(MPI_COMM_WORLD);
  expect_class(MPIX_Setting_set("MEANTIME_TIMEOUT", "0"), MPI_SUCCESS, "timeout 0");
  ring(MPI_COMM_WORLD);

  expect_class(MPIX_Setting_set("MEANTIME_WAIT", "never"), MPI_ERR_ARG, "nonsense");
  expect_text("MPIX_Setting_set: MEANTIME_WAIT ");
  expect_text("'never'");
  expect_class(MPIX_Setting_set("MEANTIME_CMA", "0"), MPI_ERR_ARG, "too late");
  expect_text("MEANTIME_CMA ");
  /* Not of the last error: another class. */
  char plain[MPI_MAX_ERROR_STRING];
  int plain_length;
  MPI_Error_string(MPI_ERR_RANK, plain, &plain_length);
  if (strcmp(plain, "MPI_ERR_RANK: invalid rank") != 0) {
    printf("the text of MPI_ERR_RANK: %s\n", plain);
    ++errors;
  }
  expect_class(MPIX_Setting_set("MEANTIME_WIAT", "poll"), MPI_ERR_ARG, "no such setting");
  expect_class(MPIX_Setting_set("MEANTIME_TRIES_YIELD", "0"), MPI_SUCCESS, "tries_yield 0");
  expect_class(MPIX_Setting_set("MEANTIME_TRIES_POLL", "0"), MPI_ERR_ARG, "all are 0");
  expect("MEANTIME_TRIES_POLL", "7");
  MPIX_Setting_set("MEANTIME_TIMEOUT", "");
  MPIX_Setting_set("MEANTIME_TRIES_POLL", "");
  MPIX_Setting_set("MEANTIME_TRIES_YIELD", "");
  MPIX_Setting_set("MEANTIME_WAIT", "");
  int length = 3;
  char text[8] = "xxxxxxx";
  MPIX_Setting_get("MEANTIME_WAIT", &length, text);
  if (strcmp(text, "ev") != 0 || length != 6) ++errors;

  /* A rung that a wait never comes to, whichever of the two is said last. */
  expect_class(MPIX_Setting_set("MEANTIME_WAIT", "poll"), MPI_SUCCESS, "poll");
  expect_class(MPIX_Setting_set("MEANTIME_TRIES_YIELD", "4"), MPI_ERR_ARG, "yields after poll");
  expect_class(MPIX_Setting_set("MEANTIME_TIMEOUT", "100"), MPI_ERR_ARG, "sleeps after poll");
  expect("MEANTIME_TRIES_YIELD", "0");
  expect_class(MPIX_Setting_set("MEANTIME_TRIES_POLL", "9"), MPI_SUCCESS, "looks");
  expect_class(MPIX_Setting_set("MEANTIME_TIMEOUT", "100"), MPI_SUCCESS, "sleeps after looks");
  expect_class(MPIX_Setting_set("MEANTIME_TRIES_POLL", ""), MPI_ERR_ARG, "polls for ever again");
  expect("MEANTIME_TRIES_POLL", "9");
  MPIX_Setting_set("MEANTIME_TIMEOUT", "");
  MPIX_Setting_set("MEANTIME_TRIES_POLL", "");
  MPIX_Setting_set("MEANTIME_WAIT", "");

  MPI_Info info;
  MPI_Comm comm, twin;
  char value[16] = "";
  int found = 0;
  MPI_Info_create(&info);
  MPI_Info_set(info, "meantime_wait", "yield");
  MPI_Info_set(info, "meantime_tries_poll", "nonsense");
  MPI_Info_set(info, "meantime_timeout", "100"); /* yield never sleeps */
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  MPI_Info_free(&info);
  MPI_Comm_dup(comm, &twin);
  MPI_Comm_get_info(twin, &info);
  length = sizeof value;
  MPI_Info_get_string(info, "meantime_wait", &length, value, &found);
  if (!found || strcmp(value, "yield") != 0) {
    printf("a communicator's meantime_wait is '%s'\n", value);
    ++errors;
  }
  MPI_Info_get_string(info, "meantime_tries_poll", &length, value, &found);
  if (found) ++errors;
  length = sizeof value;
  MPI_Info_get_string(info, "meantime_timeout", &length, value, &found);
  if (found) {
    printf("a communicator that yields for ever has a meantime_timeout\n");
    ++errors;
  }
  MPI_Info_free(&info);
  ring(comm);
  ring(twin);

  /* Hints said before stay, unless what is said now leaves them without a meaning. */
  hint(comm, "meantime_wait", "event");
  hint(comm, "meantime_timeout", "100");
  expect_hint(comm, "meantime_wait", "event");
  expect_hint(comm, "meantime_timeout", "100");
  ring(comm);
  hint(comm, "meantime_timeout", "soon");
  expect_hint(comm, "meantime_timeout", "100");
  hint(comm, "meantime_wait", "yield");
  expect_hint(comm, "meantime_wait", "yield");
  expect_hint(comm, "meantime_timeout", "");
  ring(comm);
  MPI_Comm_free(&comm);
  MPI_Comm_free(&twin);

  int all = 0, rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf(" No Errors\n");
  MPI_Finalize();
  return all != 0;
}
