// What looks like a deadlock and is none, one per argument: everybody waits or is silent for
// seconds, but something will come. The job must end as if nothing had been suspected.
#include "../mpi/check.h"

#include <sys/wait.h>

#include "stopper.h"

using namespace check;

static int seconds = 5;
static int next_rank, last_rank;

// Passes a word from rank 0 all the way round, so that all but one wait.
static void word_around() {
  int word = 4711;
  if (size == 1) return;
  if (rank) MUST(MPI_Recv(&word, 1, MPI_INT, last_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(word == 4711);
  MUST(MPI_Send(&word, 1, MPI_INT, next_rank, 1, MPI_COMM_WORLD));
  if (!rank) MUST(MPI_Recv(&word, 1, MPI_INT, last_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

// All main threads wait; a second thread of rank 0 sends after seconds.
static void thread_sends() {
  std::thread later;
  if (rank == 0)
    later = std::thread([] {
      sleep(seconds);
      int word = 1;
      MUST(MPI_Send(&word, 1, MPI_INT, next_rank, 2, MPI_COMM_WORLD));
    });
  int word = 0;
  MUST(MPI_Recv(&word, 1, MPI_INT, last_rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (rank) MUST(MPI_Send(&word, 1, MPI_INT, next_rank, 2, MPI_COMM_WORLD));
  if (later.joinable()) later.join();
}

static int query(void*, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
static int nothing(void*) {
  return MPI_SUCCESS;
}
static int nothing_cancelled(void*, int) {
  return MPI_SUCCESS;
}

// Rank 0 waits for a generalised request that a thread completes; the others for rank 0.
static void generalised_request() {
  if (rank == 0) {
    MPI_Request request;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int error = MPI_Grequest_start(query, nothing, nothing_cancelled, nullptr, &request);
    if (error_class(error) == MPI_ERR_UNSUPPORTED_OPERATION) {
      MPI_Abort(MPI_COMM_WORLD, 77);
    }
    std::thread completer([request] {
      sleep(seconds);
      MUST(MPI_Grequest_complete(request));
    });
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    completer.join();
  }
  word_around();
}

// A child process of rank 0 stops and continues it.
static void stop(bool waiting) {
  if (rank == 0) {
    const pid_t child = stop_me("0.1", seconds);
    CHECK(child > 0, "no child process");
    if (!waiting) compute_ms(300);
    word_around();
    waitpid(child, nullptr, 0);
  } else {
    // Where rank 0 waits when it is stopped, what it waits for comes while it is stopped.
    if (waiting && rank == 1) compute_ms(500);
    word_around();
  }
}
static void stopped_running() {
  stop(false);
}
static void stopped_waiting() {
  stop(true);
}

static void reads_input() {
  if (rank == 0) {
    char line[100] = "";
    CHECK(fgets(line, sizeof line, stdin) && !strcmp(line, "hello\n"), "read '%s'", line);
  }
  word_around();
}

static void computes() {
  if (rank == 0) compute_ms(seconds * 1000);
  word_around();
}

static void sleeps() {
  if (rank == 0) sleep(seconds);
  word_around();
}

// A Test loop is running, however fruitless; all ranks at once.
static void test_loop() {
  int word = -1, flag = 0;
  MPI_Request request;
  MUST(MPI_Irecv(&word, 1, MPI_INT, last_rank, 3, MPI_COMM_WORLD, &request));
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (std::chrono::steady_clock::now() < end) {
    if (!flag) MUST(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  }
  MUST(MPI_Send(&rank, 1, MPI_INT, next_rank, 3, MPI_COMM_WORLD));
  while (!flag) MUST(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  CHECK(word == last_rank);
}

static void iprobe_loop() {
  if (rank == 0) {
    int flag = 0;
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (std::chrono::steady_clock::now() < end) {
      MUST(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
      CHECK(!flag);
    }
  }
  word_around();
}

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  start(argc, argv,
        wanted == "thread_sends" || wanted == "generalised_request" ? MPI_THREAD_MULTIPLE
                                                                    : MPI_THREAD_SINGLE);
  seconds = static_cast<int>(option("seconds", 5));
  next_rank = (rank + 1) % size;
  last_rank = (rank + size - 1) % size;
  if (wanted == "finalized") {  // rank 0 computes and calls MPI long after the others finalized
    if (rank == 0) {
      compute_ms(seconds * 1000);
      int word = 5, back = 0;
      MUST(MPI_Sendrecv(&word, 1, MPI_INT, 0, 1, &back, 1, MPI_INT, 0, 1, MPI_COMM_SELF,
                        MPI_STATUS_IGNORE));
      CHECK(back == 5);
    }
    MPI_Finalize();
    if (rank == 0 && errors == 0) printf(" No Errors\n");
    return errors != 0;
  }
  if (wanted == "between_sessions") {  // rank 0 is out of MPI while the others wait for it in one
    MPI_Finalize();
    if (rank == 0) sleep_ms(seconds * 1000);
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    MUST(MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    MUST(MPI_Group_free(&group));
    MUST(MPI_Comm_disconnect(&comm));
    MUST(MPI_Session_finalize(&session));
    if (rank == 0 && errors == 0) printf(" No Errors\n");
    return errors != 0;
  }
  const struct {
    const char* name;
    void (*run)();
  } cases[] = {
      {"thread_sends", thread_sends},
      {"generalised_request", generalised_request},
      {"stopped_running", stopped_running},
      {"stopped_waiting", stopped_waiting},
      {"reads_input", reads_input},
      {"computes", computes},
      {"sleeps", sleeps},
      {"test_loop", test_loop},
      {"iprobe_loop", iprobe_loop},
  };
  bool known = false;
  for (auto& one : cases)
    if (wanted == one.name) known = true, one.run();
  CHECK(known, "no case %s", wanted.c_str());
  return finish();
}
