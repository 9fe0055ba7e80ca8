// What a program asks about the library: versions, time, error codes, memory, addresses, handles as
// integers; and which of these calls work before MPI_Init.
#include <cmath>

#include "check.h"

using namespace check;

namespace {

void before_init() {
  int flag = -1;
  MUST(MPI_Initialized(&flag));
  CHECK(flag == 0);
  MUST(MPI_Finalized(&flag));
  CHECK(flag == 0);
  int version = 0;
  int subversion = 0;
  MUST(MPI_Get_version(&version, &subversion));
  CHECK(version >= 4, "%d.%d", version, subversion);
  MUST(MPI_Abi_get_version(&version, &subversion));
  CHECK(version == MPI_ABI_VERSION && subversion == MPI_ABI_SUBVERSION, "%d.%d", version,
        subversion);
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MUST(MPI_Get_library_version(text, &length));
  CHECK(length == static_cast<int>(strlen(text)) && length > 0);
  MPI_Info info;
  MUST(MPI_Info_create(&info));
  MUST(MPI_Info_set(info, "key", "value"));
  MUST(MPI_Info_free(&info));
  CHECK(MPI_Comm_toint(MPI_COMM_WORLD) == 0x101);
  CHECK(MPI_Type_fromint(0x209) == MPI_INT);
}

void names_and_times() {
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  MUST(MPI_Get_processor_name(name, &length));
  CHECK(length == static_cast<int>(strlen(name)) && length > 0);
  const double start = MPI_Wtime();
  sleep_ms(20);
  const double waited = MPI_Wtime() - start;
  CHECK(waited > 0.015 && waited < 10, "%g s", waited);
  CHECK(MPI_Wtick() > 0 && MPI_Wtick() < 0.01, "%g s", MPI_Wtick());
  int flag = 0;
  MUST(MPI_Is_thread_main(&flag));
  CHECK(flag == 1);
  int provided = -1;
  MUST(MPI_Query_thread(&provided));
  CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE, "%d", provided);
  MPI_Pcontrol(1);
}

void error_codes() {
  int added_class = 0;
  int added_code = 0;
  int found = 0;
  int length = 0;
  char text[MPI_MAX_ERROR_STRING];
  MUST(MPI_Add_error_class(&added_class));
  CHECK(added_class > MPI_ERR_LASTCODE, "%d", added_class);
  MUST(MPI_Add_error_code(added_class, &added_code));
  MUST(MPI_Error_class(added_code, &found));
  CHECK(found == added_class, "%d", found);
  MUST(MPI_Add_error_string(added_code, "it rains"));
  MUST(MPI_Error_string(added_code, text, &length));
  CHECK(strcmp(text, "it rains") == 0 && length == 8, "'%s'", text);
  void* value = nullptr;
  int flag = 0;
  MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
  CHECK(flag == 1 && *static_cast<int*>(value) >= added_class);
  MUST(MPI_Remove_error_string(added_code));
  MUST(MPI_Remove_error_code(added_code));
  MUST(MPI_Remove_error_class(added_class));
  for (int known : {MPI_SUCCESS, MPI_ERR_TAG, MPI_ERR_TRUNCATE, MPI_ERR_ABI}) {
    MUST(MPI_Error_class(known, &found));
    CHECK(found == known, "%d", found);
    MUST(MPI_Error_string(known, text, &length));
    CHECK(length > 0 && length == static_cast<int>(strlen(text)));
  }
}

void memory() {
  for (MPI_Aint bytes : {1, 100, 1 << 20}) {
    char* memory = nullptr;
    MUST(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory));
    CHECK(reinterpret_cast<uintptr_t>(memory) % alignof(max_align_t) == 0);
    memset(memory, 1, bytes);
    MUST(MPI_Free_mem(memory));
  }
  double numbers[10];
  MPI_Aint first = 0;
  MPI_Aint last = 0;
  MUST(MPI_Get_address(&numbers[0], &first));
  MUST(MPI_Get_address(&numbers[9], &last));
  CHECK(MPI_Aint_diff(last, first) == 72);
  CHECK(MPI_Aint_add(first, 72) == last);
}

void handles_as_integers() {
  MPI_Comm comm;
  MPI_Datatype type;
  MPI_Info info;
  MPI_Group group;
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MUST(MPI_Type_contiguous(3, MPI_INT, &type));
  MUST(MPI_Info_create(&info));
  MUST(MPI_Comm_group(comm, &group));
  CHECK(MPI_Comm_fromint(MPI_Comm_toint(comm)) == comm);
  CHECK(MPI_Type_fromint(MPI_Type_toint(type)) == type);
  CHECK(MPI_Info_f2c(MPI_Info_c2f(info)) == info);
  CHECK(MPI_Group_f2c(MPI_Group_c2f(group)) == group);
  CHECK(MPI_Comm_c2f(MPI_COMM_NULL) == 0x100);
  CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
  CHECK(MPI_Op_fromint(MPI_Op_toint(MPI_SUM)) == MPI_SUM);
  CHECK(MPI_Request_fromint(MPI_Request_toint(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
  CHECK(MPI_Win_toint(MPI_WIN_NULL) == 0x110);
  CHECK(MPI_File_toint(MPI_FILE_NULL) == 0x118);
  CHECK(MPI_Session_toint(MPI_SESSION_NULL) == 0x120);
  CHECK(MPI_Message_toint(MPI_MESSAGE_NULL) == 0x128);
  MUST(MPI_Group_free(&group));
  MUST(MPI_Info_free(&info));
  MUST(MPI_Type_free(&type));
  MUST(MPI_Comm_free(&comm));
}

void abi() {
  MPI_Info info = MPI_INFO_NULL;
  MUST(MPI_Abi_get_info(&info));
  char value[16] = "";
  int length = sizeof value;
  int flag = 0;
  MUST(MPI_Info_get_string(info, "mpi_count_size", &length, value, &flag));
  CHECK(flag == 1 && strcmp(value, "8") == 0, "'%s'", value);
  MUST(MPI_Info_free(&info));
  MUST(MPI_Get_hw_resource_info(&info));
  MUST(MPI_Info_free(&info));
}

}  // namespace

int main(int argc, char** argv) {
  before_init();
  start(argc, argv);
  int flag = 0;
  MUST(MPI_Initialized(&flag));
  CHECK(flag == 1);
  names_and_times();
  error_codes();
  memory();
  handles_as_integers();
  abi();
  return finish();
}
