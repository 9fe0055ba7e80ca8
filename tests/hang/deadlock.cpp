// Real deadlocks, one per --case: the job must end at once, with the list of who waits for what.
// The runner (mpi/catalogue.py) knows what the list must say. Never ends on other MPIs.
#include "../mpi/check.h"

#include "stopper.h"

using namespace check;

static int next_rank, last_rank;
static int buffer[4 << 20];

static void wait_for_word_from(int peer, int tag, MPI_Comm comm = MPI_COMM_WORLD) {
  MPI_Recv(buffer, 1, MPI_INT, peer, tag, comm, MPI_STATUS_IGNORE);
}

static void recv_recv() {
  wait_for_word_from(next_rank, 10 + rank);
  MPI_Send(buffer, 1, MPI_INT, next_rank, 10 + last_rank, MPI_COMM_WORLD);
}

static void missing_send() {  // the others go to Finalize
  if (rank == 0) wait_for_word_from(1, 7);
}

static void missing_send_after_traffic() {
  for (int i = 0; i < 100; ++i)
    MPI_Sendrecv(&i, 1, MPI_INT, next_rank, 1, buffer, 1, MPI_INT, last_rank, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  if (rank == size - 1) wait_for_word_from(0, 7);
}

static void barrier_without_one() {
  if (rank == 0)
    wait_for_word_from(1, 3);
  else
    MPI_Barrier(MPI_COMM_WORLD);
}

static void ssend_cycle() {
  MPI_Ssend(buffer, 1, MPI_INT, next_rank, 5, MPI_COMM_WORLD);
}

static void large_send_cycle() {
  MPI_Send(buffer, 4 << 20, MPI_INT, next_rank, 5, MPI_COMM_WORLD);
  MPI_Recv(buffer, 4 << 20, MPI_INT, last_rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void mismatched_tags() {
  MPI_Send(buffer, 1, MPI_INT, next_rank, 1000, MPI_COMM_WORLD);
  wait_for_word_from(last_rank, 1001);
}

static void mismatched_communicators() {
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Send(buffer, 1, MPI_INT, next_rank, 8, MPI_COMM_WORLD);
  wait_for_word_from(last_rank, 8, copy);
}

// Rank 0 of the world is the last one of this communicator, and waits for the first one.
static void named_communicator() {
  MPI_Comm backwards;
  int there;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
  MPI_Comm_set_name(backwards, "a rather long name: eighty characters of it are shown");
  MPI_Comm_rank(backwards, &there);
  wait_for_word_from((there + 1) % size, 12, backwards);
}

static void wildcard() {
  wait_for_word_from(MPI_ANY_SOURCE, MPI_ANY_TAG);
}

static void probe() {
  MPI_Probe(next_rank, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void waitall() {
  MPI_Request requests[3];
  for (int i = 0; i < 3; ++i)
    MPI_Irecv(&buffer[i], 1, MPI_INT, next_rank, i, MPI_COMM_WORLD, &requests[i]);
  MPI_Send(buffer, 1, MPI_INT, last_rank, 1, MPI_COMM_WORLD);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

static void waitany() {
  MPI_Request requests[2];
  int index;
  for (int i = 0; i < 2; ++i)
    MPI_Irecv(&buffer[i], 1, MPI_INT, next_rank, i, MPI_COMM_WORLD, &requests[i]);
  MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
}

static void different_collectives() {
  if (rank == 0)
    wait_for_word_from(1, 2);
  else
    MPI_Allreduce(buffer, buffer + 1000, 1000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

// Two threads of each rank wait, for different things.
static void two_threads() {
  std::thread other([] { wait_for_word_from(next_rank, 21); });
  wait_for_word_from(next_rank, 22);
  other.join();
}

// Stopped for 2 s while it waits: a stopped rank might be woken by whoever stopped it, so no report
// before it runs again; then it must come.
static void stopped_meanwhile() {
  if (rank == 0) {
    stop_me("0.2", 2);
  } else {
    compute_ms(600);  // still running when rank 0 is stopped
  }
  wait_for_word_from(next_rank, 9);
}

// While rank 0 has a thread outside of MPI it might be woken. All others finalize before that
// thread ends, so no rank is left to come and look again.
static void thread_ends() {
  if (rank != 0) {
    sleep_ms(300);  // rank 0 sleeps
    return;
  }
  std::thread([] { sleep_ms(1500); }).detach();
  wait_for_word_from(next_rank, 9);
}

// The main thread ends, and a thread that waits is all that is left of each rank.
static void main_thread_ends() {
  std::thread([] { wait_for_word_from(next_rank, 31); }).detach();
  pthread_exit(nullptr);
}

// The main thread joins one that waits: as far as anybody else knows it may wake a rank. The job
// is told so, and goes on for ever.
static void thread_joined() {
  std::thread([] { wait_for_word_from(next_rank, 32); }).join();
}

// Threads that have done their part and wait for more, as an OpenMP team does.
static void team_idles() {
  std::thread([] { pause(); }).detach();
  wait_for_word_from(next_rank, 33);
}

// Past MPI_Finalize the others open a session and wait for rank 0, which could do that too until it
// ends.
static void wait_for_ended(void (*end)(int)) {
  MPI_Finalize();
  if (rank == 0) end(0);
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
}

static void session_with_ended() {
  wait_for_ended(exit);
}

static void session_with_ended_abruptly() {
  wait_for_ended(_exit);
}

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  const bool threads =
      wanted == "two_threads" || wanted == "main_thread_ends" || wanted == "thread_joined";
  start(argc, argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  next_rank = (rank + 1) % size;
  last_rank = (rank + size - 1) % size;
  const struct {
    const char* name;
    void (*run)();
  } cases[] = {
      {"recv_recv", recv_recv},
      {"missing_send", missing_send},
      {"missing_send_after_traffic", missing_send_after_traffic},
      {"barrier_without_one", barrier_without_one},
      {"ssend_cycle", ssend_cycle},
      {"large_send_cycle", large_send_cycle},
      {"mismatched_tags", mismatched_tags},
      {"mismatched_communicators", mismatched_communicators},
      {"named_communicator", named_communicator},
      {"wildcard", wildcard},
      {"probe", probe},
      {"waitall", waitall},
      {"waitany", waitany},
      {"different_collectives", different_collectives},
      {"two_threads", two_threads},
      {"thread_ends", thread_ends},
      {"main_thread_ends", main_thread_ends},
      {"thread_joined", thread_joined},
      {"team_idles", team_idles},
      {"stopped_meanwhile", stopped_meanwhile},
      {"session_with_ended", session_with_ended},
      {"session_with_ended_abruptly", session_with_ended_abruptly},
  };
  for (auto& one : cases)
    if (wanted == one.name) one.run();
  MPI_Finalize();
  printf("the case %s did not hang\n", wanted.c_str());
  return 0;
}
