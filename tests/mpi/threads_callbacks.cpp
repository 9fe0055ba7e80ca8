// A thread that ends inside a user's callback (pthread_exit, pthread_cancel) or leaves it with an
// exception, under MPI_THREAD_MULTIPLE: the library's lock is free again, the other threads go on.
#include <pthread.h>
#include <unistd.h>

#include <stdexcept>

#include "check.h"

using namespace check;

namespace {

enum class Way { exits, is_cancelled, throws };
Way way;
std::atomic<bool> inside{false};

[[noreturn]] void leave() {
  inside = true;
  if (way == Way::throws) throw std::runtime_error("of a callback");
  if (way == Way::exits) pthread_exit(nullptr);
  while (true) pause();
}

MPI_Comm comm;
int key;

void handler(MPI_Comm*, int*, ...) {
  leave();
}
void op(void*, void*, int*, MPI_Datatype*) {
  leave();
}
int copier(MPI_Comm, int, void*, void*, void*, int*) {
  leave();
}
bool leaves_delete = true;
int deleter(MPI_Comm, int, void*, void*) {
  if (leaves_delete) leave();
  return MPI_SUCCESS;
}
bool leaves_query = true;
int query(void*, MPI_Status* status) {
  if (leaves_query) leave();
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
int nothing(void*) {
  return MPI_SUCCESS;
}
int cancel(void*, int) {
  leave();
}

MPI_Op own_op;
MPI_Request request;

void fails() {
  int x = 0;
  MPI_Send(&x, -1, MPI_INT, 0, 0, comm);
}
void reduces() {
  int x = 0, y = 0;
  MPI_Reduce_local(&x, &y, 1, MPI_INT, own_op);
}
void deletes() {
  MPI_Comm_delete_attr(comm, key);
}
void sets() {
  MPI_Comm_set_attr(comm, key, nullptr);
}
void duplicates() {
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_SELF, &copy);
}
void cancels() {
  MPI_Cancel(&request);
}
void waits() {
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void* run(void* what) {
  try {
    reinterpret_cast<void (*)()>(what)();
    CHECK(false, "the call came back");
  } catch (const std::runtime_error&) {
  }
  return nullptr;
}

void run_away(void (*what)()) {
  inside = false;
  pthread_t thread;
  CHECK(pthread_create(&thread, nullptr, run, reinterpret_cast<void*>(what)) == 0);
  while (!inside) usleep(1000);
  if (way == Way::is_cancelled) CHECK(pthread_cancel(thread) == 0);
  CHECK(pthread_join(thread, nullptr) == 0);
  // The lock is free, and the ranks still understand each other.
  int got = -1;
  MUST(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 3, &got, 1, MPI_INT,
                    (rank + size - 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(got == (rank + size - 1) % size);
}

void one(void (*what)()) {
  for (const Way each : {Way::exits, Way::is_cancelled, Way::throws}) {
    way = each;
    run_away(what);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int provided = start(argc, argv, MPI_THREAD_MULTIPLE);
  // MPICH's lock stays with the thread that is gone.
  if (provided == MPI_THREAD_MULTIPLE && !on_mpich()) {
    MPI_Errhandler own;
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MUST(MPI_Comm_create_errhandler(handler, &own));
    MUST(MPI_Comm_set_errhandler(comm, own));
    MUST(MPI_Errhandler_free(&own));
    MUST(MPI_Comm_create_keyval(copier, deleter, &key, nullptr));
    MUST(MPI_Comm_set_attr(comm, key, nullptr));
    MUST(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr));
    MUST(MPI_Op_create(op, 1, &own_op));
    MUST(MPI_Grequest_start(query, nothing, cancel, nullptr, &request));
    one(fails);
    one(reduces);
    one(deletes);
    one(sets);
    one(duplicates);
    one(cancels);
    MUST(MPI_Grequest_complete(request));
    way = Way::exits;
    run_away(waits);
    leaves_query = false;
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_Op_free(&own_op));
    leaves_delete = false;
    MUST(MPI_Comm_delete_attr(MPI_COMM_SELF, key));
    MUST(MPI_Comm_free_keyval(&key));
    MUST(MPI_Comm_free(&comm));
  }
  return finish();
}
