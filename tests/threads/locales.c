/* The locale is each rank's own: what it sets is what printf, strtod, wide characters and dates go
   by, whatever the others have set. argv[1] is a locale with a decimal comma, if there is one.
   Prints " No Errors" or what is wrong. */
#define _GNU_SOURCE
#include <langinfo.h>
#include <locale.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

static int errors, rank;

static void check(int right, const char* what) {
  if (!right) {
    errors++;
    fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
  }
}
static int is(const char* text, const char* expected) {
  return text != NULL && strcmp(text, expected) == 0;
}

static void look(const char* comma, int wide) {
  const char* const point = comma != NULL ? "," : ".";
  char text[40], number[10];
  char* end;
  snprintf(text, sizeof text, "%.1f", 0.5);
  snprintf(number, sizeof number, "0%s5", point);
  check(is(text, number), text);
  check(strtod(number, &end) == 0.5 && *end == '\0', "strtod");
  check(is(localeconv()->decimal_point, point) && is(nl_langinfo(RADIXCHAR), point), "localeconv");
  check((MB_CUR_MAX > 1) == wide, "MB_CUR_MAX");
  wchar_t character = 0;
  check(mbtowc(&character, "\303\244", 2) == (wide ? 2 : -1) || !wide, "mbtowc");
  check(!wide || character == 0xe4, "a wide character");
}

static void* thread(void* comma) {
  look(comma, 1);
  return NULL;
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int odd = rank % 2;
  const char* const german = count > 1 ? words[1] : NULL;
  const char* const name = german != NULL ? german : "C.UTF-8";
  check(is(setlocale(LC_ALL, NULL), "C"), "the first one");
  check(setlocale(LC_ALL, "no_SUCH.locale") == NULL && setlocale(99, "C") == NULL, "no locale");
  check(is(setlocale(LC_ALL, NULL), "C"), "after no locale");
  if (odd)
    setenv("LC_ALL", name, 1);
  else
    setenv("LC_ALL", "C", 1);
  for (int i = 0; i < 3; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    look(NULL, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    check(is(setlocale(LC_ALL, ""), odd ? name : "C"), "by the environment");
    for (int j = 0; j < 3; j++) {
      MPI_Barrier(MPI_COMM_WORLD);
      look(odd ? german : NULL, odd);
      check(is(setlocale(LC_ALL, NULL), odd ? name : "C"), "setlocale(LC_ALL, NULL)");
      check(is(setlocale(LC_NUMERIC, NULL), odd ? name : "C"), "setlocale(LC_NUMERIC, NULL)");
    }
    if (odd) {
      pthread_t made;
      pthread_create(&made, NULL, thread, (void*)german);
      pthread_join(made, NULL);
    }
    /* One category, and all that were, by their names. */
    check(is(setlocale(LC_NUMERIC, "POSIX"), "C"), "POSIX");
    MPI_Barrier(MPI_COMM_WORLD);
    look(NULL, odd);
    char all[500];
    strcpy(all, setlocale(LC_ALL, NULL));
    check(!odd || (strstr(all, "LC_NUMERIC=C;") && strstr(all, name)), all);
    setlocale(LC_ALL, "C");
    check(is(setlocale(LC_ALL, all), all), "by its names");
    look(NULL, odd);
    /* A locale of the thread goes before that of the process. */
    const locale_t mine = newlocale(LC_ALL_MASK, odd ? "C" : name, NULL);
    check(mine != NULL && uselocale(NULL) == LC_GLOBAL_LOCALE, "newlocale");
    check(uselocale(mine) == LC_GLOBAL_LOCALE, "uselocale");
    setlocale(LC_ALL, odd ? name : "C");
    MPI_Barrier(MPI_COMM_WORLD);
    look(odd ? NULL : german, !odd);
    const locale_t copy = duplocale(LC_GLOBAL_LOCALE);
    check(uselocale(LC_GLOBAL_LOCALE) == mine && uselocale(NULL) == LC_GLOBAL_LOCALE, "back");
    look(odd ? german : NULL, odd);
    uselocale(copy);
    look(odd ? german : NULL, odd);
    uselocale(LC_GLOBAL_LOCALE);
    freelocale(copy);
    freelocale(mine);
    /* Half a character, then other ranks' whole ones. */
    wchar_t character = 0;
    if (odd) check(mbrtowc(&character, "\303", 1, NULL) == (size_t)-2, "half a character");
    MPI_Barrier(MPI_COMM_WORLD);
    if (odd) check(mbrtowc(&character, "\244", 1, NULL) == 1 && character == 0xe4, "the other");
    setlocale(LC_ALL, "C");
  }
  MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0 && errors == 0) printf(" No Errors\n");
  return errors != 0;
}
