// MPI_THREAD_MULTIPLE: what a blocking call was given may be freed by another thread while it waits
// (MPI 5.0, 5.1.9, 6.9.5, 7.3.2): datatypes, operators, groups, infos, error handlers. Rank 0 comes
// last; what is freed meanwhile on the others is overwritten by objects of the same kinds that
// would give other results.
#include <unistd.h>

#include <functional>

#include "collective.h"

using namespace check;

namespace {

enum { elements = 500 };

void add(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}
void spoil(void*, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] = -777;
}
std::atomic<int> handled{0};
void handle(MPI_Comm*, int*, ...) {
  ++handled;
}
void wrong_handler(MPI_Comm*, int*, ...) {
  handled += 1000;
}

bool asleep(int thread) {
  char path[64], text[256] = "";
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  FILE* const file = fopen(path, "r");
  if (file == nullptr) return true;  // it has returned
  const bool any = fgets(text, sizeof text, file) != nullptr;
  fclose(file);
  const char* const state = any ? strrchr(text, ')') : nullptr;
  return state != nullptr && state[2] == 'S';
}

// What the call is given, once right and once (other) to take its memory.
MPI_Datatype make_type(bool other) {
  MPI_Datatype type;
  MUST(MPI_Type_vector(elements, 1, other ? 3 : 2, MPI_INT, &type));
  MUST(MPI_Type_commit(&type));
  return type;
}
MPI_Op make_op(bool other) {
  MPI_Op op;
  MUST(MPI_Op_create(other ? spoil : add, 1, &op));
  return op;
}
MPI_Group make_group(bool other) {
  MPI_Group all, group;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  int ranges[1][3] = {{size - 1, other ? size - 1 : 0, -1}};
  MUST(MPI_Group_range_incl(all, 1, ranges, &group));
  MUST(MPI_Group_free(&all));
  return group;
}
MPI_Info make_info(bool other) {
  MPI_Info info;
  MUST(MPI_Info_create(&info));
  MUST(MPI_Info_set(info, "mpi_assert_no_any_tag", other ? "false" : "true"));
  return info;
}
MPI_Errhandler make_handler(bool other) {
  MPI_Errhandler handler;
  MUST(MPI_Comm_create_errhandler(other ? wrong_handler : handle, &handler));
  return handler;
}

}  // namespace

int main(int argc, char** argv) {
  if (start(argc, argv, MPI_THREAD_MULTIPLE) < MPI_THREAD_MULTIPLE) {
    CHECK(false, "MPI_THREAD_MULTIPLE is not provided");
    return finish();
  }
  const bool frees = rank != 0;
  MPI_Datatype broadcast = make_type(false), reduced, exchanged = make_type(false);
  MUST(MPI_Type_contiguous(1, MPI_INT, &reduced));
  MUST(MPI_Type_commit(&reduced));
  MPI_Op op = make_op(false), scanned = make_op(false);
  MPI_Group group = make_group(false), handled_group = make_group(false);
  MPI_Info info = make_info(false), group_info = make_info(false);
  MPI_Errhandler handler = make_handler(false);
  enum { calls = 7 };
  MPI_Comm comms[calls], created, copied, from_group;
  for (auto& comm : comms) MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  std::vector<int> data(elements * 3, -1), sent(elements * 3 * size, rank),
      got(elements * 3 * size, -1);
  if (rank == 0) std::fill(data.begin(), data.end(), 5);
  int one = rank + 1, sum = 0, scan = 0;
  std::vector<MPI_Datatype> types(size, exchanged);
  std::vector<int> counts(size, 1), places(size);
  for (int i = 0; i < size; ++i) places[i] = i * elements * 3 * static_cast<int>(sizeof(int));
  const std::function<void()> all[calls] = {
      [&] { MUST(MPI_Bcast(data.data(), 1, broadcast, 0, comms[0])); },
      [&] { MUST(MPI_Allreduce(&one, &sum, 1, reduced, op, comms[1])); },
      [&] { MUST(MPI_Scan(&one, &scan, 1, MPI_INT, scanned, comms[2])); },
      [&] {
        MUST(MPI_Alltoallw(sent.data(), counts.data(), places.data(), types.data(), got.data(),
                           counts.data(), places.data(), types.data(), comms[3]));
      },
      [&] { MUST(MPI_Comm_create_group(comms[4], group, 3, &created)); },
      [&] { MUST(MPI_Comm_dup_with_info(comms[5], info, &copied)); },
      [&] {
        MUST(MPI_Comm_create_from_group(handled_group, "here", group_info, handler, &from_group));
      },
  };
  std::atomic<int> threads[calls] = {};
  std::vector<std::thread> running;
  if (frees) {
    for (int i = 0; i < calls; ++i)
      running.emplace_back([&, i] {
        threads[i] = gettid();
        all[i]();
      });
    // A thread that has slept for a while does so in its call: then what it was given may be freed.
    // Where it never sleeps, it has begun the call long since.
    for (int looks = 0, times = 0; looks < 300 && times < 20; ++looks) {
      bool all_sleep = true;
      for (auto& thread : threads) all_sleep = all_sleep && thread != 0 && asleep(thread);
      times = all_sleep ? times + 1 : 0;
      sleep_ms(10);
    }
    MUST(MPI_Type_free(&broadcast));
    MUST(MPI_Type_free(&reduced));
    MUST(MPI_Type_free(&exchanged));
    MUST(MPI_Op_free(&op));
    MUST(MPI_Op_free(&scanned));
    MUST(MPI_Group_free(&group));
    MUST(MPI_Group_free(&handled_group));
    MUST(MPI_Info_free(&info));
    MUST(MPI_Info_free(&group_info));
    MUST(MPI_Errhandler_free(&handler));
    for (int i = 0; i < 64; ++i) {
      make_type(true);
      make_op(true);
      make_group(true);
      make_info(true);
      make_handler(true);
    }
    int token = 1;
    MUST(MPI_Send(&token, 1, MPI_INT, 0, 9, MPI_COMM_WORLD));
  } else {
    for (int from = 1; from < size; ++from) {
      int token = 0;
      MUST(MPI_Recv(&token, 1, MPI_INT, from, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    for (auto& call : all) running.emplace_back(call);
  }
  for (auto& thread : running) thread.join();

  for (int i = 0; i < elements * 3 && rank != 0; ++i)
    if (data[i] != (i % 2 == 0 && i < elements * 2 ? 5 : -1)) {
      CHECK(false, "MPI_Bcast: [%d] is %d", i, data[i]);
      break;
    }
  CHECK(sum == size * (size + 1) / 2, "MPI_Allreduce: %d", sum);
  CHECK(scan == (rank + 1) * (rank + 2) / 2, "MPI_Scan: %d", scan);
  for (int from = 0; from < size; ++from)
    for (int i = 0; i < elements * 3; ++i)
      if (const int is = got[from * elements * 3 + i];
          is != (i % 2 == 0 && i < elements * 2 ? from : -1)) {
        CHECK(false, "MPI_Alltoallw: [%d] of rank %d is %d", i, from, is);
        break;
      }
  for (MPI_Comm comm : {created, copied, from_group}) {
    int members = 0;
    MPI_Comm_size(comm, &members);
    CHECK(members == size, "%d members", members);
  }
  MPI_Send(nullptr, -1, MPI_INT, 0, 0, from_group);
  CHECK(handled == 1, "the error handler: %d", handled.load());
  MPI_Info has;
  char value[32] = "";
  int length = sizeof value, there = 0;
  MUST(MPI_Comm_get_info(copied, &has));
  MUST(MPI_Info_get_string(has, "mpi_assert_no_any_tag", &length, value, &there));
  CHECK(!there || strcmp(value, "true") == 0, "the info: %s", value);
  return finish();
}
