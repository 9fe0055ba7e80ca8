// A small hash table under a lock: request → what hangs on it.
#include "pending.h"

#include <pthread.h>
#include <stdlib.h>

#include "choice.h"

struct item {
  struct item* next;
  void* memory;  // NULL: it is a choice
  struct meantime_choice choice;
};

struct meantime_hanging {
  struct meantime_hanging* next;
  MPI_Fint request;
  bool persistent;
  bool active;  // of a persistent one: started, and not yet complete
  struct item* items;
};

enum { CHAINS = 256 };
static struct meantime_hanging* chains[CHAINS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
atomic_int meantime_pending_count;

static struct meantime_hanging** find(MPI_Fint request) {
  struct meantime_hanging** place = &chains[(unsigned)request % CHAINS];
  while (*place != NULL && (*place)->request != request) place = &(*place)->next;
  return place;
}

static struct meantime_hanging* unlink_entry(struct meantime_hanging** place) {
  struct meantime_hanging* hanging = *place;
  *place = hanging->next;
  atomic_fetch_sub(&meantime_pending_count, 1);
  return hanging;
}

static void copy_back(struct meantime_hanging* hanging) {
  for (struct item* item = hanging->items; item != NULL; item = item->next) {
    if (item->memory == NULL && item->choice.comes_back) meantime_copy_out(&item->choice);
  }
}

static void release(struct meantime_hanging* hanging) {
  while (hanging->items != NULL) {
    struct item* item = hanging->items;
    hanging->items = item->next;
    free(item->memory == NULL ? (void*)item->choice.scratch : item->memory);
    free(item);
  }
  free(hanging);
}

static void keep(MPI_Fint request, bool persistent, struct item* item) {
  pthread_mutex_lock(&lock);
  struct meantime_hanging** place = find(request);
  if (*place == NULL) {
    struct meantime_hanging* hanging = meantime_allocate(sizeof *hanging);
    *hanging = (struct meantime_hanging){NULL, request, persistent, !persistent, NULL};
    *place = hanging;
    atomic_fetch_add(&meantime_pending_count, 1);
  }
  item->next = (*place)->items;
  (*place)->items = item;
  pthread_mutex_unlock(&lock);
}

void meantime_keep_choice(MPI_Fint request, bool persistent, struct meantime_choice* choice) {
  if (choice->scratch == NULL) return;
  struct item* item = meantime_allocate(sizeof *item);
  item->memory = NULL;
  item->choice = *choice;
  choice->scratch = NULL;
  keep(request, persistent, item);
}

void meantime_keep_memory(MPI_Fint request, bool persistent, void* memory) {
  struct item* item = meantime_allocate(sizeof *item);
  item->memory = memory;
  keep(request, persistent, item);
}

void meantime_forget_slowly(MPI_Fint request) {
  pthread_mutex_lock(&lock);
  struct meantime_hanging** place = find(request);
  struct meantime_hanging* hanging = *place == NULL ? NULL : unlink_entry(place);
  pthread_mutex_unlock(&lock);
  if (hanging != NULL) release(hanging);
}

struct meantime_hanging* meantime_take_slowly(MPI_Fint request) {
  pthread_mutex_lock(&lock);
  struct meantime_hanging** place = find(request);
  // The count stays: it is still there for the calls that ask before they look.
  struct meantime_hanging* hanging = *place;
  if (hanging != NULL) *place = hanging->next;
  pthread_mutex_unlock(&lock);
  return hanging;
}

void meantime_put_back_slowly(struct meantime_hanging* hanging) {
  pthread_mutex_lock(&lock);
  struct meantime_hanging** chain = &chains[(unsigned)hanging->request % CHAINS];
  hanging->next = *chain;
  *chain = hanging;
  pthread_mutex_unlock(&lock);
}

// The copies know what they brought back before, so it is no matter how often they go.
void meantime_arrived_slowly(struct meantime_hanging* hanging) {
  if (hanging->active) copy_back(hanging);
  meantime_put_back_slowly(hanging);
}

void meantime_completed_slowly(struct meantime_hanging* hanging) {
  if (hanging->active) copy_back(hanging);
  if (hanging->persistent) {
    hanging->active = false;
    meantime_put_back_slowly(hanging);
  } else {
    atomic_fetch_sub(&meantime_pending_count, 1);
    release(hanging);
  }
}

void meantime_freed_slowly(struct meantime_hanging* hanging) {
  atomic_fetch_sub(&meantime_pending_count, 1);
  if (!hanging->active) {
    release(hanging);
    return;
  }
  static struct meantime_hanging* abandoned;  // so that it is no leak
  pthread_mutex_lock(&lock);
  hanging->next = abandoned;
  abandoned = hanging;
  pthread_mutex_unlock(&lock);
}

void meantime_starting_slowly(MPI_Fint request) {
  struct meantime_hanging* hanging = meantime_take_slowly(request);
  if (hanging == NULL) return;
  hanging->active = true;
  for (struct item* item = hanging->items; item != NULL; item = item->next) {
    if (item->memory == NULL) meantime_copy_in(&item->choice);
  }
  meantime_put_back_slowly(hanging);
}
