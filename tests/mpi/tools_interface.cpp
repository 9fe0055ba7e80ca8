// The tools interface: what every implementation's variables, enumerations and categories must
// obey, whatever they are; counters in two sessions that do not disturb each other; the codes of
// errors.
#include <algorithm>

#include "check.h"

using namespace check;

namespace {

std::string name_of_cvar(int index) {
  int length = 0;
  MUST(MPI_T_cvar_get_info(index, nullptr, &length, nullptr, nullptr, nullptr, nullptr, nullptr,
                           nullptr, nullptr));
  CHECK(length > 1);
  std::string name(length, 'x');
  MUST(MPI_T_cvar_get_info(index, name.data(), &length, nullptr, nullptr, nullptr, nullptr, nullptr,
                           nullptr, nullptr));
  CHECK(name[length - 1] == '\0');
  name.resize(length - 1);
  // Cut: what fits, ended by a 0, and the length that all of it needs.
  char three[3] = {'x', 'x', 'x'};
  int room = 3;
  MUST(MPI_T_cvar_get_info(index, three, &room, nullptr, nullptr, nullptr, nullptr, nullptr,
                           nullptr, nullptr));
  CHECK(std::string(three) == name.substr(0, 2));
  return name;
}

void check_enumeration(MPI_T_enum enumeration) {
  int items = 0, length = 0;
  MUST(MPI_T_enum_get_info(enumeration, &items, nullptr, &length));
  CHECK(items > 0);
  for (int item = 0; item < items; ++item) {
    char name[200];
    int value = -1;
    length = sizeof name;
    MUST(MPI_T_enum_get_item(enumeration, item, &value, name, &length));
    CHECK(length == static_cast<int>(strlen(name)) + 1);
  }
}

void control_variables() {
  int number = 0;
  MUST(MPI_T_cvar_get_num(&number));
  CHECK(number > 0);
  for (int index = 0; index < number; ++index) {
    const std::string name = name_of_cvar(index);
    int found = -1;
    MUST(MPI_T_cvar_get_index(name.c_str(), &found));
    CHECK(found == index, "%s", name.c_str());
    int verbosity = 0, bind = 0, scope = 0, count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum enumeration = MPI_T_ENUM_NULL;
    MUST(MPI_T_cvar_get_info(index, nullptr, nullptr, &verbosity, &type, &enumeration, nullptr,
                             nullptr, &bind, &scope));
    CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
    CHECK(scope >= MPI_T_SCOPE_CONSTANT && scope <= MPI_T_SCOPE_ALL_EQ);
    if (enumeration != MPI_T_ENUM_NULL) check_enumeration(enumeration);
    if (bind != MPI_T_BIND_NO_OBJECT) continue;
    MPI_T_cvar_handle handle;
    MUST(MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count));
    int size = 0;
    MUST(MPI_Type_size(type, &size));
    std::vector<char> value(static_cast<size_t>(size) * count + 1);
    MUST(MPI_T_cvar_read(handle, value.data()));
    if (scope == MPI_T_SCOPE_CONSTANT) CHECK(MPI_T_cvar_write(handle, value.data()) != MPI_SUCCESS);
    MUST(MPI_T_cvar_handle_free(&handle));
    CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
  }
  int found;
  CHECK(MPI_T_cvar_get_index("no such variable", &found) == MPI_T_ERR_INVALID_NAME);
  CHECK(MPI_T_cvar_get_info(number, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                            nullptr, nullptr) == MPI_T_ERR_INVALID_INDEX);
}

/// Items of an enumeration are names: what they mean is in the variable's description.
void explains(const char* variable) {
  int index = -1;
  MPI_T_enum enumeration = MPI_T_ENUM_NULL;
  char description[2000];
  int room = sizeof description, items = 0;
  MUST(MPI_T_cvar_get_index(variable, &index));
  MUST(MPI_T_cvar_get_info(index, nullptr, nullptr, nullptr, nullptr, &enumeration, description,
                           &room, nullptr, nullptr));
  MUST(MPI_T_enum_get_info(enumeration, &items, nullptr, nullptr));
  CHECK(items > 1);
  for (int item = 0; item < items; ++item) {
    char name[100];
    int value = -1, length = sizeof name;
    MUST(MPI_T_enum_get_item(enumeration, item, &value, name, &length));
    CHECK(strstr(description, (std::string("; ") + name + ": ").c_str()) != nullptr, "%s in %s",
          name, description);
  }
}

/// A setting of Meantime's that may change while the program runs, and one that may not.
void settings() {
  int index, count, value, old;
  if (MPI_T_cvar_get_index("MEANTIME_WAIT", &index) != MPI_SUCCESS) return;  // another MPI
  explains("MEANTIME_WAIT");
  explains("MEANTIME_ENERGY");
  MPI_T_cvar_handle handle;
  MUST(MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count));
  MUST(MPI_T_cvar_read(handle, &old));
  for (const int way : {1, 0, old}) {
    MUST(MPI_T_cvar_write(handle, &way));
    MUST(MPI_T_cvar_read(handle, &value));
    CHECK(value == way);
  }
  value = 1000;
  CHECK(MPI_T_cvar_write(handle, &value) == MPI_T_ERR_INVALID);
  MUST(MPI_T_cvar_handle_free(&handle));
  MUST(MPI_T_cvar_get_index("MEANTIME_EAGER_LIMIT", &index));
  MUST(MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count));
  unsigned long long bytes = 0;
  MUST(MPI_T_cvar_read(handle, &bytes));
  CHECK(bytes <= 256 * 1024);
  CHECK(MPI_T_cvar_write(handle, &bytes) == MPI_T_ERR_CVAR_SET_NEVER);
  MUST(MPI_T_cvar_handle_free(&handle));
  // Not set: no bound, while 0 is the strictest there is.
  if (getenv("MEANTIME_CPU_DMA_LATENCY") == nullptr) {
    unsigned long long microseconds = 0;
    MUST(MPI_T_cvar_get_index("MEANTIME_CPU_DMA_LATENCY", &index));
    MUST(MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count));
    MUST(MPI_T_cvar_read(handle, &microseconds));
    CHECK(microseconds == ~0ull, "%llu", microseconds);
    MUST(MPI_T_cvar_handle_free(&handle));
  }
}

/// What MPI_Init will make of the settings.
void settings_before_start() {
  int index, count, before = -1;
  if (MPI_T_cvar_get_index("MEANTIME_WAIT", &index) != MPI_SUCCESS) return;  // another MPI
  MPI_T_cvar_handle handle;
  MUST(MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count));
  MUST(MPI_T_cvar_read(handle, &before));
  MPI_T_enum words;
  char name[100];
  int value = -1, length = sizeof name;
  MUST(MPI_T_cvar_get_info(index, nullptr, nullptr, nullptr, nullptr, &words, nullptr, nullptr,
                           nullptr, nullptr));
  MUST(MPI_T_enum_get_item(words, before, &value, name, &length));
  if (const char* way = getenv("MEANTIME_WAIT")) CHECK(strcmp(name, way) == 0, "%s", name);
  CHECK(MPI_T_cvar_write(handle, &before) == MPI_T_ERR_CVAR_SET_NOT_NOW);
  MUST(MPI_T_cvar_handle_free(&handle));
}

/// Something to count: both ranks wait for each other.
void exchange() {
  if (size < 2 || rank > 1) return;
  for (int i = 0; i < 20; ++i) {
    if (rank == i % 2)
      MUST(MPI_Ssend(&i, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD));
    else
      MUST(MPI_Recv(&i, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
}

void performance_variables() {
  int number = 0;
  MUST(MPI_T_pvar_get_num(&number));
  MPI_T_pvar_session sessions[2];
  for (MPI_T_pvar_session& session : sessions) MUST(MPI_T_pvar_session_create(&session));
  for (int index = 0; index < number; ++index) {
    char name[400];
    int length = sizeof name, variable_class, bind, readonly, continuous, atomic, found = -1;
    MPI_Datatype type;
    MUST(MPI_T_pvar_get_info(index, name, &length, nullptr, &variable_class, &type, nullptr,
                             nullptr, nullptr, &bind, &readonly, &continuous, &atomic));
    MUST(MPI_T_pvar_get_index(name, variable_class, &found));
    CHECK(found == index, "%s", name);
    if (bind != MPI_T_BIND_NO_OBJECT || variable_class != MPI_T_PVAR_CLASS_COUNTER || continuous ||
        readonly || type != MPI_UNSIGNED_LONG_LONG)
      continue;
    MPI_T_pvar_handle handles[2];
    int count;
    unsigned long long values[2];
    for (int i = 0; i < 2; ++i)
      MUST(MPI_T_pvar_handle_alloc(sessions[i], index, nullptr, &handles[i], &count));
    if (count != 1) continue;
    MUST(MPI_T_pvar_start(sessions[0], MPI_T_PVAR_ALL_HANDLES));
    exchange();
    MUST(MPI_T_pvar_stop(sessions[0], handles[0]));
    for (int i = 0; i < 2; ++i) MUST(MPI_T_pvar_read(sessions[i], handles[i], &values[i]));
    CHECK(values[1] == 0, "%s was not started in the second session", name);
    const unsigned long long stopped = values[0];
    exchange();
    MUST(MPI_T_pvar_read(sessions[0], handles[0], &values[0]));
    CHECK(values[0] == stopped, "%s is stopped", name);
    values[0] = 5;
    MUST(MPI_T_pvar_write(sessions[0], handles[0], &values[0]));
    MUST(MPI_T_pvar_read(sessions[0], handles[0], &values[0]));
    CHECK(values[0] == 5);
    MUST(MPI_T_pvar_reset(sessions[0], handles[0]));
    MUST(MPI_T_pvar_read(sessions[0], handles[0], &values[0]));
    CHECK(values[0] == 0);
    CHECK(MPI_T_pvar_read(sessions[1], handles[0], &values[0]) == MPI_T_ERR_INVALID_HANDLE);
    MUST(MPI_T_pvar_handle_free(sessions[0], &handles[0]));
    CHECK(handles[0] == MPI_T_PVAR_HANDLE_NULL);
  }
  for (MPI_T_pvar_session& session : sessions) MUST(MPI_T_pvar_session_free(&session));
}

void categories() {
  int number = 0, changes = -1, again = -2;
  MUST(MPI_T_category_get_num(&number));
  MUST(MPI_T_category_changed(&changes));
  for (int index = 0; index < number; ++index) {
    char name[400];
    int length = sizeof name, cvars, pvars, subcategories, found = -1;
    MUST(MPI_T_category_get_info(index, name, &length, nullptr, nullptr, &cvars, &pvars,
                                 &subcategories));
    MUST(MPI_T_category_get_index(name, &found));
    CHECK(found == index, "%s", name);
    std::vector<int> members(std::max({cvars, pvars, subcategories, 1}), -1);
    const auto check = [&](int count, auto call) {
      MUST(call(index, count, members.data()));
      for (int i = 0; i < count; ++i) CHECK(members[i] >= 0);
    };
    check(cvars, MPI_T_category_get_cvars);
    check(pvars, MPI_T_category_get_pvars);
    check(subcategories, MPI_T_category_get_categories);
  }
  MUST(MPI_T_category_changed(&again));
  CHECK(changes == again);
}

}  // namespace

int main(int argc, char** argv) {
  int number, provided;
  CHECK(MPI_T_cvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
  MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  MUST(MPI_T_cvar_get_num(&number));  // before MPI_Init
  settings_before_start();
  start(argc, argv);
  MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  control_variables();
  settings();
  performance_variables();
  categories();
  MUST(MPI_T_event_get_num(&number));
  MUST(MPI_T_source_get_num(&number));
  MUST(MPI_T_finalize());
  MUST(MPI_T_cvar_get_num(&number));  // the first MPI_T_init_thread still counts
  MUST(MPI_T_finalize());
  // MPICH counts MPI_Init, too.
  if (!on_mpich()) CHECK(MPI_T_cvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
  return finish();
}
