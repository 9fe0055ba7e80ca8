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

struct entry {
  struct entry* next;
  MPI_Fint request;
  bool persistent;
  bool active;  // of a persistent one: started, and not yet complete
  struct item* items;
};

enum { CHAINS = 256 };
static struct entry* chains[CHAINS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
atomic_int meantime_pending_count;

static struct entry** find(MPI_Fint request) {
  struct entry** place = &chains[(unsigned)request % CHAINS];
  while (*place != NULL && (*place)->request != request) place = &(*place)->next;
  return place;
}

static struct entry* unlink_entry(struct entry** place) {
  struct entry* entry = *place;
  *place = entry->next;
  atomic_fetch_sub(&meantime_pending_count, 1);
  return entry;
}

static void copy_back(struct entry* entry) {
  for (struct item* item = entry->items; item != NULL; item = item->next) {
    if (item->memory == NULL && item->choice.comes_back) meantime_copy_out(&item->choice);
  }
}

static void release(struct entry* entry) {
  while (entry->items != NULL) {
    struct item* item = entry->items;
    entry->items = item->next;
    free(item->memory == NULL ? (void*)item->choice.scratch : item->memory);
    free(item);
  }
  free(entry);
}

static void keep(MPI_Fint request, bool persistent, struct item* item) {
  pthread_mutex_lock(&lock);
  struct entry** place = find(request);
  if (*place == NULL) {
    struct entry* entry = meantime_allocate(sizeof *entry);
    *entry = (struct entry){NULL, request, persistent, false, NULL};
    *place = entry;
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
  struct entry** place = find(request);
  struct entry* entry = *place == NULL ? NULL : unlink_entry(place);
  pthread_mutex_unlock(&lock);
  if (entry != NULL) release(entry);
}

void meantime_completed_slowly(MPI_Fint request) {
  pthread_mutex_lock(&lock);
  struct entry** place = find(request);
  struct entry* entry = *place;
  if (entry != NULL && !entry->persistent) {
    unlink_entry(place);
  } else if (entry != NULL && !entry->active) {
    entry = NULL;
  }
  if (entry != NULL) entry->active = false;
  pthread_mutex_unlock(&lock);
  if (entry == NULL) return;
  copy_back(entry);
  if (!entry->persistent) release(entry);
}

void meantime_starting_slowly(MPI_Fint request) {
  pthread_mutex_lock(&lock);
  struct entry* entry = *find(request);
  pthread_mutex_unlock(&lock);
  if (entry == NULL) return;
  entry->active = true;
  for (struct item* item = entry->items; item != NULL; item = item->next) {
    if (item->memory == NULL) meantime_copy_in(&item->choice);
  }
}
