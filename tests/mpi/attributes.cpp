// Attributes of communicators (copied by dup, deleted by free and Finalize), predefined ones, and
// info objects.
#include "check.h"

using namespace check;

static int copied, deleted;

static int copy(MPI_Comm, int, void* extra, void* in, void* out, int* flag) {
  ++copied;
  CHECK(extra == &copied);
  *static_cast<void**>(out) = static_cast<char*>(in) + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
static int remove_it(MPI_Comm, int, void*, void*) {
  ++deleted;
  return MPI_SUCCESS;
}

static void keyvals() {
  int key = -1, null_key = -1, dup_key = -1, flag = -1;
  char base[8];
  void* value = nullptr;
  MUST(MPI_Comm_create_keyval(copy, remove_it, &key, &copied));
  MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &null_key, nullptr));
  MUST(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &dup_key, nullptr));
  MPI_Comm first, second;
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &first));
  MUST(MPI_Comm_get_attr(first, key, &value, &flag));
  CHECK(!flag);
  MUST(MPI_Comm_set_attr(first, key, base));
  MUST(MPI_Comm_set_attr(first, null_key, base));
  MUST(MPI_Comm_set_attr(first, dup_key, base + 5));
  MUST(MPI_Comm_get_attr(first, key, &value, &flag));
  CHECK(flag && value == base);
  MUST(MPI_Comm_dup(first, &second));
  CHECK(copied == 1);
  MUST(MPI_Comm_get_attr(second, key, &value, &flag));
  CHECK(flag && value == base + 1);
  MUST(MPI_Comm_get_attr(second, null_key, &value, &flag));
  CHECK(!flag);
  MUST(MPI_Comm_get_attr(second, dup_key, &value, &flag));
  CHECK(flag && value == base + 5);
  MUST(MPI_Comm_set_attr(second, key, base));  // replaces: the old one is deleted
  CHECK(deleted == 1);
  MUST(MPI_Comm_delete_attr(second, key));
  CHECK(deleted == 2);
  MUST(MPI_Comm_free(&second));
  CHECK(deleted == 2);
  MUST(MPI_Comm_free(&first));
  CHECK(deleted == 3);
  MUST(MPI_Comm_set_attr(MPI_COMM_SELF, key, base));  // deleted by Finalize, checked at exit
  MUST(MPI_Comm_free_keyval(&key));
  MUST(MPI_Comm_free_keyval(&null_key));
  MUST(MPI_Comm_free_keyval(&dup_key));
  CHECK(key == MPI_KEYVAL_INVALID);
}

static void predefined() {
  void* value = nullptr;
  int flag = 0;
  MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
  CHECK(flag && *static_cast<int*>(value) >= 32767);
  const int highest = flag ? *static_cast<int*>(value) : 0;
  MUST(MPI_Sendrecv(&rank, 1, MPI_INT, rank, highest, &flag, 1, MPI_INT, rank, highest,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(flag == rank);
  MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag));
  CHECK(!flag || *static_cast<int*>(value) == 0 || *static_cast<int*>(value) == 1);
  MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag));
  MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &flag));
  MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
  CHECK(!flag || *static_cast<int*>(value) >= size);
}

static void infos() {
  MPI_Info info, copy_of;
  int n = -1, flag = -1, length = -1;
  char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
  MUST(MPI_Info_create(&info));
  MUST(MPI_Info_set(info, "one", "1"));
  MUST(MPI_Info_set(info, "two", "second value"));
  MUST(MPI_Info_set(info, "one", "first"));
  MUST(MPI_Info_get_nkeys(info, &n));
  CHECK(n == 2);
  MUST(MPI_Info_get_nthkey(info, 0, key));
  CHECK(!strcmp(key, "one"));
  length = sizeof value;
  MUST(MPI_Info_get_string(info, "one", &length, value, &flag));
  CHECK(flag && !strcmp(value, "first") && length == 6, "'%s' %d", value, length);
  length = 4;
  MUST(MPI_Info_get_string(info, "two", &length, value, &flag));
  CHECK(flag && !strcmp(value, "sec") && length == 13, "'%s' %d", value, length);
  MUST(MPI_Info_get_string(info, "three", &length, value, &flag));
  CHECK(!flag);
  MUST(MPI_Info_dup(info, &copy_of));
  MUST(MPI_Info_delete(info, "one"));
  MUST(MPI_Info_get_nkeys(info, &n));
  CHECK(n == 1);
  MUST(MPI_Info_get_nkeys(copy_of, &n));
  CHECK(n == 2);
  MUST(MPI_Info_free(&info));
  MUST(MPI_Info_free(&copy_of));
  CHECK(info == MPI_INFO_NULL);
}

// Assertions are promises about one communicator: a duplicate does not have them (MPI 4.0, 7.4.2).
static bool asserted(MPI_Comm comm) {
  const char* const key = "mpi_assert_no_any_tag";
  MPI_Info used;
  char value[8] = "";
  int length = sizeof value, flag = 0;
  MUST(MPI_Comm_get_info(comm, &used));
  MUST(MPI_Info_get_string(used, key, &length, value, &flag));
  MUST(MPI_Info_free(&used));
  return flag && !strcmp(value, "true");
}

static void hints() {
  MPI_Info info;
  MPI_Comm first, copies[3];
  MPI_Request request;
  MUST(MPI_Info_create(&info));
  MUST(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  MUST(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &first));
  CHECK(asserted(first) && !asserted(MPI_COMM_WORLD));
  MUST(MPI_Comm_dup(first, &copies[0]));
  MUST(MPI_Comm_idup(first, &copies[1], &request));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MUST(MPI_Comm_dup_with_info(first, MPI_INFO_NULL, &copies[2]));
  for (MPI_Comm& copy : copies) {
    CHECK(!asserted(copy));
    MUST(MPI_Comm_free(&copy));
  }
  MUST(MPI_Comm_free(&first));
  MUST(MPI_Info_free(&info));
}

int main(int argc, char** argv) {
  start(argc, argv);
  keyvals();
  hints();
  predefined();
  infos();
  double before = MPI_Wtime(), tick = MPI_Wtick();
  sleep_ms(2);
  double passed = MPI_Wtime() - before;
  CHECK(passed > 0.0019 && passed < 5 && tick > 0 && tick < 0.01, "%g %g", passed, tick);
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = 0, version = 0, subversion = 0;
  MUST(MPI_Get_processor_name(name, &length));
  CHECK(length > 0 && static_cast<size_t>(length) == strlen(name));
  MUST(MPI_Get_version(&version, &subversion));
  CHECK(version >= 4);
  return finish();
}
