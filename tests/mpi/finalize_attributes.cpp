// Attributes that are there at MPI_Finalize: those of MPI_COMM_SELF first, last set first, while
// MPI still works; then those of MPI_COMM_WORLD and of named datatypes. And the tool interface
// after MPI_Finalize, up to the program's last atexit handler.
#include "check.h"

using namespace check;

namespace {

std::vector<long> deleted;

template <class Handle>
int note(Handle, int, void* value, void*) {
  int finalized = -1;
  MUST(MPI_Finalized(&finalized));
  CHECK(!finalized);
  deleted.push_back(reinterpret_cast<long>(value));
  return MPI_SUCCESS;
}

int talk(MPI_Comm comm, int, void* value, void*) {
  int sum = 0;
  const int one = 1;
  MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum == size && comm == MPI_COMM_SELF);
  return note(comm, 0, value, nullptr);
}

void* number(long value) {
  return reinterpret_cast<void*>(value);
}

void use_tool_interface() {
  int provided = 0;
  int many = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS ||
      MPI_T_cvar_get_num(&many) != MPI_SUCCESS || many <= 0 ||
      MPI_T_category_get_num(&many) != MPI_SUCCESS || many <= 0) {
    fprintf(stderr, "the tool interface does not work any more\n");
    _Exit(9);
  }
  for (int index = 0; index < many; ++index) {
    char name[200] = "";
    char text[200] = "";
    int name_length = sizeof name;
    int text_length = sizeof text;
    int parts[3];
    if (MPI_T_category_get_info(index, name, &name_length, text, &text_length, &parts[0], &parts[1],
                                &parts[2]) != MPI_SUCCESS ||
        name[0] == '\0') {
      fprintf(stderr, "category %d is gone\n", index);
      _Exit(9);
    }
  }
  MPI_T_finalize();
}

struct AtTheEnd {
  ~AtTheEnd() {
    if (armed) use_tool_interface();
  }
  bool armed = false;
} at_the_end;

}  // namespace

int main(int argc, char** argv) {
  start(argc, argv);
  at_the_end.armed = !on_mpich();  // which aborts at exit if the tool interface comes again
  int key;
  int talking;
  int of_types;
  MPI_Datatype own;
  MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note<MPI_Comm>, &key, nullptr));
  MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, talk, &talking, nullptr));
  MUST(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, note<MPI_Datatype>, &of_types, nullptr));
  MUST(MPI_Comm_set_attr(MPI_COMM_WORLD, key, number(4)));
  MUST(MPI_Comm_set_attr(MPI_COMM_SELF, key, number(2)));
  MUST(MPI_Comm_set_attr(MPI_COMM_SELF, talking, number(1)));
  MUST(MPI_Type_set_attr(MPI_INT, of_types, number(5)));
  MUST(MPI_Type_set_attr(MPI_DOUBLE, of_types, number(6)));
  MUST(MPI_Type_dup(MPI_INT, &own));
  MUST(MPI_Type_set_attr(own, of_types, number(0)));
  MUST(MPI_Type_free(&own));
  MUST(MPI_Comm_free_keyval(&key));
  MUST(MPI_Comm_free_keyval(&talking));
  MUST(MPI_Type_free_keyval(&of_types));
  const int failed_before = finish();
  const std::vector<long> wanted{0, 1, 2, 4, 5, 6};
  CHECK(deleted == wanted, "%zu deleted, the second %ld", deleted.size(),
        deleted.size() > 1 ? deleted[1] : -1);
  return failed_before != 0 || errors.load() != 0 ? 1 : 0;
}
