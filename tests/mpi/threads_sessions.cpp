// MPI_Session_init by several threads at once, before anything else of MPI (MPI 5.0, 11.6).
#include "check.h"

using namespace check;

int main(int argc, char** argv) {
  require_expected_library();
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
