// What the surroundings say of themselves: MPI_Info_create_env before MPI_Init, between, and after
// MPI_Finalize, by several threads at once; MPI_INFO_ENV; the hardware that MPI_Comm_split_type
// may be guided by.
#include "check.h"

using namespace check;

static std::string value_of(MPI_Info info, const char* key, bool* found = nullptr) {
  char value[4096] = "";
  int length = sizeof value, flag = 0;
  MUST(MPI_Info_get_string(info, key, &length, value, &flag));
  if (found != nullptr) *found = flag != 0;
  return flag ? value : "";
}

// Each call makes an object of its own, which the program may change and free.
static void made(int argc, char** argv) {
  MPI_Info first, second;
  MUST(MPI_Info_create_env(argc, argv, &first));
  MUST(MPI_Info_create_env(argc, argv, &second));
  CHECK(first != MPI_INFO_NULL && first != second);
  int keys = -1, again = -2;
  MUST(MPI_Info_get_nkeys(first, &keys));
  MUST(MPI_Info_get_nkeys(second, &again));
  CHECK(keys == again, "%d, %d", keys, again);
  bool found = false;
  const std::string command = value_of(first, "command", &found);
  if (found) CHECK(command.find("environment_info") != std::string::npos, "%s", command.c_str());
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = "";
    MUST(MPI_Info_get_nthkey(first, i, key));
    CHECK(value_of(first, key) == value_of(second, key), "%s", key);
  }
  MUST(MPI_Info_set(first, "own key", "own value"));
  CHECK(value_of(first, "own key") == "own value");
  value_of(second, "own key", &found);
  CHECK(!found);
  MUST(MPI_Info_free(&second));
  MUST(MPI_Info_free(&first));
  CHECK(first == MPI_INFO_NULL);
  MUST(MPI_Info_create_env(0, nullptr, &first));
  MUST(MPI_Info_free(&first));
}

static void the_worlds() {
  MPI_Info copy;
  int keys = -1, again = -2;
  MUST(MPI_Info_dup(MPI_INFO_ENV, &copy));
  MUST(MPI_Info_get_nkeys(MPI_INFO_ENV, &keys));
  MUST(MPI_Info_get_nkeys(copy, &again));
  CHECK(keys == again, "%d, %d", keys, again);
  MUST(MPI_Info_free(&copy));
}

// Every kind that is named there makes a communicator of those that share such a resource.
static void hardware() {
  MPI_Info info, guide;
  int keys = -1;
  MUST(MPI_Get_hw_resource_info(&info));
  MUST(MPI_Info_get_nkeys(info, &keys));
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = "";
    MUST(MPI_Info_get_nthkey(info, i, key));
    const std::string restricted = value_of(info, key);
    CHECK(restricted == "true" || restricted == "false", "%s: %s", key, restricted.c_str());
    MPI_Comm part;
    MUST(MPI_Info_create(&guide));
    MUST(MPI_Info_set(guide, "mpi_hw_resource_type", key));
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, guide, &part));
    MUST(MPI_Info_free(&guide));
    if (part == MPI_COMM_NULL) continue;
    int there = -1;
    MUST(MPI_Comm_size(part, &there));
    CHECK(there >= 1 && there <= size, "%d", there);
    MUST(MPI_Comm_free(&part));
  }
  MUST(MPI_Info_free(&info));
  // The memory of a node is one that all know.
  MPI_Comm node, shared;
  int of_node = -1, of_shared = -2;
  MUST(MPI_Info_create(&guide));
  MUST(MPI_Info_set(guide, "mpi_hw_resource_type", "mpi_shared_memory"));
  MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, guide, &node));
  MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
  MUST(MPI_Comm_size(node, &of_node));
  MUST(MPI_Comm_size(shared, &of_shared));
  CHECK(of_node == of_shared, "%d, %d", of_node, of_shared);
  MUST(MPI_Comm_free(&node));
  // Without a guide: what has divided the ranks is told; nodes do so first.
  MPI_Comm part;
  MUST(MPI_Info_delete(guide, "mpi_hw_resource_type"));
  MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, guide, &part));
  if (part != MPI_COMM_NULL) {
    const std::string divided_by = value_of(guide, "mpi_hw_resource_type");
    CHECK(!divided_by.empty());
    CHECK(of_node == size || on_mpich() || divided_by == "mpi_shared_memory", "%s",
          divided_by.c_str());
    MUST(MPI_Comm_free(&part));
  } else {
    CHECK(of_node == size || on_mpich());
  }
  MUST(MPI_Comm_free(&shared));
  MUST(MPI_Info_free(&guide));
}

/// What objects say of the memory that they take, when `request` is what mpiexec was asked for:
/// what is there, whatever was asked for.
static void memory_kinds(const std::string& request, const std::string& worlds) {
  const char* const key = "mpi_memory_alloc_kinds";
  if (!on_mpich()) CHECK(value_of(MPI_INFO_ENV, key) == request);
  MPI_Info info;
  MPI_Comm copy;
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF, copy}) {
    MUST(MPI_Comm_get_info(comm, &info));
    CHECK(value_of(info, key) == worlds, "%s", value_of(info, key).c_str());
    MUST(MPI_Info_free(&info));
  }
  MUST(MPI_Comm_free(&copy));
  int* memory;
  MPI_Win window;
  MUST(MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
  MUST(MPI_Win_get_info(window, &info));
  CHECK(value_of(info, key) == worlds);
  MUST(MPI_Info_free(&info));
  MUST(MPI_Win_free(&window));

  const std::string always = "mpi,system";
  const char* const asked[][2] = {
      {"cuda", ""},
      {"cuda:device,mpi", ""},
      {"mpi:bogus,mpi:alloc_mem:bogus", ""},
      {"system:mpi", ""},
      {"mpi:", ""},
      {"", ""},
      {"mpi:alloc_mem:win_allocate,system", ",mpi:alloc_mem:win_allocate"},
      {"mpi:alloc_mem,cuda,mpi:win_allocate_shared", ",mpi:alloc_mem,mpi:win_allocate_shared"},
  };
  for (const auto& [ask, more] : asked) {
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, key, ask));
    MPI_Session session;
    MUST(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    MUST(MPI_Info_free(&info));
    MUST(MPI_Session_get_info(session, &info));
    CHECK(value_of(info, key) == always + more, "%s: %s", ask, value_of(info, key).c_str());
    MUST(MPI_Info_free(&info));
    MPI_Group group;
    MPI_Comm comm;
    MUST(MPI_Group_from_session_pset(session, "mpi://SELF", &group));
    MUST(MPI_Comm_create_from_group(group, "kinds", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    MUST(MPI_Group_free(&group));
    MUST(MPI_Comm_get_info(comm, &info));
    CHECK(value_of(info, key) == always + more, "%s: %s", ask, value_of(info, key).c_str());
    MUST(MPI_Info_free(&info));
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Session_finalize(&session));
  }
}

/// With arguments: what mpiexec was asked for, and what of it there is.
int main(int argc, char** argv) {
  require_expected_library();
  made(argc, argv);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([=] { made(argc, argv); });
  for (auto& thread : threads) thread.join();
  start(argc, argv);
  made(argc, argv);
  the_worlds();
  hardware();
  memory_kinds(argc > 2 ? argv[1] : "", argc > 2 ? argv[2] : "mpi,system");
  const int status = finish();
  made(argc, argv);
  return status + errors;
}
