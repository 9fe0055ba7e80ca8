// Buffers of communicators and sessions for buffered sends: the nearest one counts, each has room
// of its own, flushing with and without waiting, detaching gives back what was attached. And the
// error handler of MPI_FILE_NULL and the name of MPI_WIN_NULL, which are there without files and
// windows.
#include "check.h"

using namespace check;

namespace {

constexpr int bytes = 20000;
std::vector<char> out(bytes, 'x'), in(bytes);

int send(MPI_Comm comm) {
  int own;
  MUST(MPI_Comm_rank(comm, &own));
  return MPI_Bsend(out.data(), bytes, MPI_BYTE, own, 0, comm);
}

void receive(MPI_Comm comm, int messages) {
  int own;
  MUST(MPI_Comm_rank(comm, &own));
  for (int i = 0; i < messages; ++i)
    MUST(MPI_Recv(in.data(), bytes, MPI_BYTE, own, 0, comm, MPI_STATUS_IGNORE));
}

constexpr int room = bytes + MPI_BSEND_OVERHEAD;

void of_communicator() {
  MPI_Comm comm;
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MUST(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  std::vector<char> near(2 * room), far(room);
  CHECK(send(comm) != MPI_SUCCESS, "nothing is attached");
  MUST(MPI_Buffer_attach(far.data(), room));
  MUST(MPI_Comm_attach_buffer(comm, near.data(), 2 * room));
  CHECK(MPI_Comm_attach_buffer(comm, near.data(), room) != MPI_SUCCESS, "one is attached");
  MUST(send(comm));
  MUST(send(comm));
  MUST(send(MPI_COMM_WORLD));  // has the process's, which is empty still
  receive(comm, 2);
  receive(MPI_COMM_WORLD, 1);
  MUST(MPI_Comm_flush_buffer(comm));
  MPI_Request requests[2];
  MUST(send(comm));
  MUST(MPI_Comm_iflush_buffer(comm, &requests[0]));
  MUST(MPI_Buffer_iflush(&requests[1]));
  receive(comm, 1);
  MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  MUST(MPI_Buffer_flush());
  MUST(send(comm));  // the room is there again
  receive(comm, 1);
  void* address = nullptr;
  int size_of = 0;
  MUST(MPI_Comm_detach_buffer(comm, &address, &size_of));
  CHECK(address == near.data() && size_of == 2 * room);
  MUST(send(comm));  // now the process's
  receive(comm, 1);
  MUST(MPI_Buffer_detach(&address, &size_of));
  CHECK(address == far.data() && size_of == room);
  CHECK(send(comm) != MPI_SUCCESS, "nothing is attached any more");
  // As much as it takes.
  MUST(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0));
  for (int i = 0; i < 5; ++i) MUST(send(comm));
  receive(comm, 5);
  MUST(MPI_Comm_detach_buffer(comm, &address, &size_of));
  CHECK(address == MPI_BUFFER_AUTOMATIC);
  MUST(MPI_Comm_free(&comm));
}

/// Counts for communicators that came from the session, and for their children, and for no others.
void of_session() {
  MPI_Session session;
  MPI_Group world, some;
  MPI_Comm comm, child;
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
  const int all[][3] = {{size - 1, 0, -1}};
  int reversed[1][3];
  memcpy(reversed, all, sizeof all);
  MUST(MPI_Group_range_incl(world, 1, reversed, &some));
  MUST(MPI_Comm_create_from_group(some, "buffers", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  MUST(MPI_Comm_dup(comm, &child));
  std::vector<char> buffer(room);
  MUST(MPI_Session_attach_buffer(session, buffer.data(), room));
  for (MPI_Comm one : {comm, child}) {
    MUST(send(one));
    receive(one, 1);
    MPI_Request request;
    MUST(MPI_Session_iflush_buffer(session, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  MUST(MPI_Session_flush_buffer(session));
  CHECK(send(MPI_COMM_WORLD) != MPI_SUCCESS);
  void* address = nullptr;
  int size_of = 0;
  MUST(MPI_Session_detach_buffer(session, &address, &size_of));
  CHECK(address == buffer.data() && size_of == room);
  MUST(MPI_Comm_free(&child));
  MUST(MPI_Comm_free(&comm));
  MUST(MPI_Group_free(&some));
  MUST(MPI_Group_free(&world));
  MUST(MPI_Session_finalize(&session));
}

int calls = 0;
void note_call(MPI_File* file, int*, ...) {
  CHECK(*file == MPI_FILE_NULL);
  ++calls;
}

void of_nothing() {
  MPI_Errhandler handler, made;
  MUST(MPI_File_get_errhandler(MPI_FILE_NULL, &handler));
  CHECK(handler == MPI_ERRORS_RETURN);
  MUST(MPI_File_create_errhandler(note_call, &made));
  MUST(MPI_File_set_errhandler(MPI_FILE_NULL, made));
  MUST(MPI_File_get_errhandler(MPI_FILE_NULL, &handler));
  CHECK(handler == made);
  MUST(MPI_Errhandler_free(&handler));
  MUST(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_OTHER));
  CHECK(calls == 1);
  MUST(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  MUST(MPI_Errhandler_free(&made));
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  MUST(MPI_Win_get_name(MPI_WIN_NULL, name, &length));
  CHECK(std::string(name) == "MPI_WIN_NULL" && length == 12, "%s", name);
}

}  // namespace

int main(int argc, char** argv) {
  start(argc, argv);
  of_communicator();
  of_session();
  of_nothing();
  return finish();
}
