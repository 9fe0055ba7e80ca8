// Sessions: one after the other, several at once, beside MPI_Init; communicators from their sets of
// ranks; error handlers of their own.
#include "check.h"

static int called;
static void handler(MPI_Session*, int* code, ...) {
  ++called;
  CHECK(check::error_class(*code) != MPI_SUCCESS);
}

static MPI_Comm make(MPI_Session session, const char* set, const char* tag) {
  MPI_Group group;
  MPI_Comm comm;
  MUST(MPI_Group_from_session_pset(session, set, &group));
  MUST(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
  MUST(MPI_Group_free(&group));
  return comm;
}

static void look_at_sets(MPI_Session session) {
  int sets = 0;
  bool world = false, self = false;
  MUST(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets));
  for (int n = 0; n < sets; ++n) {
    int length = 0;
    MUST(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, nullptr));
    std::string name(length, ' ');
    MUST(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name.data()));
    name.resize(strlen(name.c_str()));
    world = world || name == "mpi://WORLD";
    self = self || name == "mpi://SELF";
    MPI_Info info;
    MUST(MPI_Session_get_pset_info(session, name.c_str(), &info));
    char size[32] = "";
    int room = sizeof size, flag = 0;
    MUST(MPI_Info_get_string(info, "mpi_size", &room, size, &flag));
    CHECK(flag && atoi(size) >= 1, "%s has '%s' ranks", name.c_str(), size);
    MUST(MPI_Info_free(&info));
  }
  CHECK(world && self);
}

static int not_made;
static void no_communicator(MPI_Comm*, int* code, ...) {
  ++not_made;
  CHECK(check::error_class(*code) == MPI_ERR_ARG, "%d", *code);
}

// What fails before the session or communicator is there is raised by the error handler that it was
// to get.
static void errors_of_making(MPI_Session session) {
  MPI_Info info;
  MPI_Session none = MPI_SESSION_NULL;
  MUST(MPI_Info_create(&info));
  MUST(MPI_Info_set(info, "thread_level", "no such level"));
  CHECK(MPI_Session_init(info, MPI_ERRORS_RETURN, &none) != MPI_SUCCESS);
  MUST(MPI_Info_free(&info));
  MPI_Errhandler handler;
  MPI_Group group;
  MUST(MPI_Comm_create_errhandler(no_communicator, &handler));
  MUST(MPI_Group_from_session_pset(session, "mpi://SELF", &group));
  MPI_Comm_create_from_group(group, "none", MPI_INFO_NULL, handler, nullptr);
  CHECK(not_made == 1, "%d", not_made);
  MUST(MPI_Group_free(&group));
  MUST(MPI_Errhandler_free(&handler));
  int length = 20;
  CHECK(check::error_class(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, nullptr)) ==
        MPI_ERR_ARG);
}

static void use(MPI_Session session, const char* tag) {
  MPI_Comm comm = make(session, "mpi://WORLD", tag);
  int rank = 0, size = 0, got = -1;
  MUST(MPI_Comm_rank(comm, &rank));
  MUST(MPI_Comm_size(comm, &size));
  MUST(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT,
                    (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE));
  CHECK(got == (rank + size - 1) % size, "%d", got);
  MUST(MPI_Comm_disconnect(&comm));
  MPI_Comm self = make(session, "mpi://SELF", tag);
  MUST(MPI_Comm_size(self, &size));
  CHECK(size == 1, "%d", size);
  MUST(MPI_Comm_free(&self));
}

int main(int argc, char** argv) {
  check::require_expected_library();
  int flag = -1;
  MPI_Session first, second;
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first));
  MUST(MPI_Initialized(&flag));
  CHECK(flag == 0);
  look_at_sets(first);
  errors_of_making(first);
  use(first, "first");
  MUST(MPI_Session_finalize(&first));
  CHECK(first == MPI_SESSION_NULL);

  // Again, with two at once and the ordinary way beside them.
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first));
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second));
  use(second, "second");
  check::start(argc, argv);
  MUST(MPI_Initialized(&flag));
  CHECK(flag == 1);
  use(first, "beside the world");

  MPI_Errhandler made;
  MUST(MPI_Session_create_errhandler(handler, &made));
  MUST(MPI_Session_set_errhandler(second, made));
  MUST(MPI_Errhandler_free(&made));
  MPI_Group group;
  MPI_Group_from_session_pset(second, "no such set", &group);
  CHECK(group == MPI_GROUP_NULL);
  CHECK(called == 1, "%d", called);
  called = 0;
  MUST(MPI_Session_call_errhandler(second, MPI_ERR_OTHER));
  CHECK(called == 1, "%d", called);
  MUST(MPI_Session_finalize(&second));
  MUST(MPI_Session_finalize(&first));
  return check::finish();
}
