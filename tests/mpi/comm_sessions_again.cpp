// Sessions at all times: before MPI_Init, around it, and after MPI_Finalize, each opened and
// finalized several times; messages beyond the eager limit, and ranks that come late or not at all.
#include "check.h"

using namespace check;

static int world_size;

static MPI_Comm make(MPI_Session session, const char* set, const std::string& tag) {
  MPI_Group group;
  MPI_Comm comm;
  MUST(MPI_Group_from_session_pset(session, set, &group));
  MUST(MPI_Comm_create_from_group(group, tag.c_str(), MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
  MUST(MPI_Group_free(&group));
  return comm;
}

static MPI_Session open_session() {
  MPI_Session session;
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  return session;
}

static void use(MPI_Comm comm, int seed) {
  int mine = 0, ranks = 0, sum = 0;
  MUST(MPI_Comm_rank(comm, &mine));
  MUST(MPI_Comm_size(comm, &ranks));
  const int next = (mine + 1) % ranks, last = (mine + ranks - 1) % ranks;
  for (int bytes : {1, 3000, 70000, 2 << 20}) {
    std::vector<unsigned char> out(bytes), in(bytes);
    fill(out.data(), out.size(), seed + mine);
    MUST(MPI_Sendrecv(out.data(), bytes, MPI_BYTE, next, 5, in.data(), bytes, MPI_BYTE, last, 5,
                      comm, MPI_STATUS_IGNORE));
    CHECK(first_wrong(in.data(), in.size(), seed + last) < 0, "%d bytes", bytes);
  }
  MUST(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK(sum == ranks * (ranks - 1) / 2, "%d", sum);
}

// One rank is late each time: the others are in MPI_Comm_create_from_group while it is out of MPI.
static void round_of_all(const char* when, int number) {
  const std::string tag = when + std::to_string(number);
  if (rank == number % world_size) sleep_ms(20);
  MPI_Session session = open_session();
  MPI_Comm comm = make(session, "mpi://WORLD", tag);
  MUST(MPI_Comm_rank(comm, &rank));
  MUST(MPI_Comm_size(comm, &world_size));
  use(comm, number);
  if (number % 2 == 0) {  // two at once
    MPI_Session other = open_session();
    MPI_Comm second = make(other, "mpi://WORLD", tag + " other");
    use(second, number + 1);
    MUST(MPI_Comm_disconnect(&second));
    MUST(MPI_Session_finalize(&other));
  }
  MUST(MPI_Comm_disconnect(&comm));
  MUST(MPI_Session_finalize(&session));
  CHECK(session == MPI_SESSION_NULL);
}

// Of some ranks alone, as often as they like. (MPICH's last session of a rank waits for those of
// all.)
static void rounds_alone(const char* when) {
  if (on_mpich()) return;
  for (int i = 0; i < 5 * rank; ++i) {
    MPI_Session session = open_session();
    MPI_Comm comm = make(session, "mpi://SELF", when);
    use(comm, i);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Session_finalize(&session));
  }
}

static void several(const char* when) {
  for (int i = 0; i < 4; ++i) round_of_all(when, i);
  rounds_alone(when);
  for (int i = 4; i < 6; ++i) round_of_all(when, i);
}

static void state_is(int initialized, int finalized) {
  int flag = -1;
  MUST(MPI_Initialized(&flag));
  CHECK(flag == initialized);
  MUST(MPI_Finalized(&flag));
  CHECK(flag == finalized);
}

// A buffered send that leaves only when it is received: MPI_Session_finalize waits for it.
static void buffered_send_at_the_end() {
  static unsigned char buffer[(1 << 20) + MPI_BSEND_OVERHEAD], out[1 << 20], in[1 << 20];
  MPI_Session session = open_session();
  MPI_Comm comm = make(session, "mpi://WORLD", "buffered");
  if (rank == 0) {
    MUST(MPI_Session_attach_buffer(session, buffer, sizeof buffer));
    fill(out, sizeof out, 9);
    MUST(MPI_Bsend(out, sizeof out, MPI_BYTE, world_size - 1, 0, comm));
    memset(out, 0, sizeof out);
  }
  if (rank == world_size - 1) {
    sleep_ms(20);
    MUST(MPI_Recv(in, sizeof in, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE));
    CHECK(first_wrong(in, sizeof in, 9) < 0);
  }
  MUST(MPI_Comm_free(&comm));
  MUST(MPI_Session_finalize(&session));
}

// There is MPI_COMM_WORLD only from MPI_Init until MPI_Finalize, though a session has the library
// up.
static void there_is_no_world() {
  if (on_mpich()) return;  // there is one after MPI_Finalize
  int number = -1, flag = 0;
  MPI_Comm other = MPI_COMM_NULL;
  void* value = nullptr;
  CHECK(error_class(MPI_Comm_rank(MPI_COMM_WORLD, &number)) == MPI_ERR_COMM);
  CHECK(error_class(MPI_Comm_size(MPI_COMM_SELF, &number)) == MPI_ERR_COMM);
  CHECK(error_class(MPI_Comm_dup(MPI_COMM_SELF, &other)) == MPI_ERR_COMM);
  CHECK(error_class(MPI_Barrier(MPI_COMM_WORLD)) == MPI_ERR_COMM);
  CHECK(error_class(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag)) == MPI_ERR_COMM);
  CHECK(number == -1 && other == MPI_COMM_NULL);
}

// Without MPI_COMM_WORLD: every rank gets the number of errors of all.
static void finish_in_a_session() {
  MPI_Session session = open_session();
  MPI_Comm comm = make(session, "mpi://WORLD", "the end");
  int mine = errors.load(), all = 0;
  MUST(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, comm));
  if (rank == 0 && all == 0) printf(" No Errors\n");
  MUST(MPI_Comm_disconnect(&comm));
  MUST(MPI_Session_finalize(&session));
}

int main(int argc, char** argv) {
  require_expected_library();
  world_size = 1;
  state_is(0, 0);
  several("before ");
  state_is(0, 0);

  // Beside the world: the session is there before MPI_Init and after MPI_Finalize.
  MPI_Session around = open_session();
  start(argc, argv);
  MPI_Comm comm = make(around, "mpi://WORLD", "around");
  use(MPI_COMM_WORLD, 100);
  several("between ");
  state_is(1, 0);
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MUST(MPI_Finalize());
  there_is_no_world();
  use(comm, 200);
  state_is(1, 1);
  MUST(MPI_Comm_disconnect(&comm));
  MUST(MPI_Session_finalize(&around));

  several("after ");
  buffered_send_at_the_end();
  state_is(1, 1);
  finish_in_a_session();
  return errors ? 1 : 0;
}
