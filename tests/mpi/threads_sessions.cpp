// MPI_Session_init by several threads at once, before anything else of MPI (MPI 5.0, 11.6); --more:
// with another thread in MPI.
#include "check.h"

using namespace check;

static std::string level_of(MPI_Session session) {
  char value[64] = "";
  int length = sizeof value, found = 0;
  MPI_Info info;
  MUST(MPI_Session_get_info(session, &info));
  MUST(MPI_Info_get_string(info, "thread_level", &length, value, &found));
  MUST(MPI_Info_free(&info));
  return value;
}

// A session that asks for more than the world has. While the main thread may be in a call that
// takes no lock, another thread's session does not get it; the main thread's own does.
static void more_than_the_world(int argc, char** argv) {
  int provided = 0, word = 0;
  MUST(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Info info;
  MUST(MPI_Info_create(&info));
  MUST(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
  MPI_Session of_another_thread, own;
  std::thread other([&] {
    sleep_ms(100);
    MUST(MPI_Session_init(info, MPI_ERRORS_RETURN, &of_another_thread));
  });
  if (rank == 0) {
    sleep_ms(300);
    for (int r = 1; r < size; ++r) MUST(MPI_Send(&word, 1, MPI_INT, r, 0, MPI_COMM_WORLD));
  } else {
    MUST(MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  other.join();
  MUST(MPI_Session_init(info, MPI_ERRORS_RETURN, &own));
  if (!on_mpich() && provided == MPI_THREAD_FUNNELED) {
    CHECK(level_of(of_another_thread) == "MPI_THREAD_FUNNELED", "%s",
          level_of(of_another_thread).c_str());
    CHECK(level_of(own) == "MPI_THREAD_MULTIPLE", "%s", level_of(own).c_str());
  }
  MUST(MPI_Info_free(&info));
  MUST(MPI_Session_finalize(&own));
  MUST(MPI_Session_finalize(&of_another_thread));
}

int main(int argc, char** argv) {
  require_expected_library();
  if (argc > 1 && !strcmp(argv[1], "--more")) {
    more_than_the_world(argc, argv);
    return finish();
  }
  constexpr int threads = 4;
  std::atomic<int> ready{0};
  std::vector<MPI_Session> sessions(threads);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      MPI_Info info;
      MPI_Group group;
      int members = 0;
      ++ready;
      while (ready < threads) {
      }
      MUST(MPI_Info_create(&info));
      MUST(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
      MUST(MPI_Session_init(info, MPI_ERRORS_RETURN, &sessions[t]));
      MUST(MPI_Group_from_session_pset(sessions[t], "mpi://WORLD", &group));
      MUST(MPI_Group_size(group, &members));
      CHECK(members >= 1, "%d", members);
      MUST(MPI_Group_free(&group));
      MUST(MPI_Info_free(&info));
    });
  }
  for (auto& thread : all) thread.join();
  start(argc, argv);
  for (MPI_Session& session : sessions) MUST(MPI_Session_finalize(&session));
  return finish();
}
