// What the collective tests share: every call in its blocking and its non-blocking form through
// one function, communicators of several shapes, value patterns.
#pragma once

#include "check.h"

#include <functional>

namespace check {

// A communicator with a name, and whether this rank is in it.
struct Team {
  const char* name;
  MPI_Comm comm;
  int rank = 0, size = 0;
  Team(const char* n, MPI_Comm c) : name(n), comm(c) {
    if (comm == MPI_COMM_NULL) return;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
  }
};

// The world, its reverse, its two halves by parity, and a split that leaves out rank 0.
inline std::vector<Team> teams() {
  std::vector<Team> result;
  result.emplace_back("world", MPI_COMM_WORLD);
  MPI_Comm comm;
  MUST(MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comm));
  result.emplace_back("reversed", comm);
  MUST(MPI_Comm_split(MPI_COMM_WORLD, rank & 1, (rank * 7) % size, &comm));
  result.emplace_back("parity", comm);
  // Over several nodes, which have neighbours in the world, their ranks take turns.
  MUST(MPI_Comm_split(MPI_COMM_WORLD, rank ? 0 : int(MPI_UNDEFINED), rank % 3, &comm));
  result.emplace_back("without 0", comm);
  return result;
}

inline void free_teams(std::vector<Team>& all) {
  for (auto& team : all)
    if (team.comm != MPI_COMM_WORLD && team.comm != MPI_COMM_NULL) MUST(MPI_Comm_free(&team.comm));
}

enum class Form { blocking, waited, tested };
inline const char* name_of(Form form) {
  return form == Form::blocking ? "blocking" : form == Form::waited ? "I, waited" : "I, tested";
}

// Finishes a non-blocking call by Wait or by a Test loop.
inline void complete(Form form, MPI_Request* request) {
  if (form == Form::waited) {
    MUST(MPI_Wait(request, MPI_STATUS_IGNORE));
  } else {
    int flag = 0;
    while (!flag) MUST(MPI_Test(request, &flag, MPI_STATUS_IGNORE));
  }
  CHECK(*request == MPI_REQUEST_NULL);
}

// CALL(form, Bcast, arguments without the request...): MPI_Bcast or MPI_Ibcast to its end.
#define CALL(form, name, lower, ...)                  \
  do {                                                \
    if ((form) == ::check::Form::blocking) {          \
      MUST(MPI_##name(__VA_ARGS__));                  \
    } else {                                          \
      MPI_Request call_request = MPI_REQUEST_NULL;    \
      MUST(MPI_I##lower(__VA_ARGS__, &call_request)); \
      ::check::complete((form), &call_request);       \
    }                                                 \
  } while (0)

// Calls the body for each team this rank is in and each form.
inline void for_teams(const std::function<void(const Team&, Form)>& body) {
  auto all = teams();
  for (auto& team : all)
    if (team.comm != MPI_COMM_NULL)
      for (Form form : {Form::blocking, Form::waited, Form::tested}) body(team, form);
  free_teams(all);
}

// Counts of ints: around thresholds, fewer for the larger.
inline std::vector<int> counts_to(int limit) {
  std::vector<int> result;
  for (int c : {0,    1,    2,    3,    8,    16,    17,    100,   255,    256,   512,
                1000, 1024, 2048, 4096, 5000, 16384, 40000, 65536, 131072, 262144})
    if (c <= limit) result.push_back(c);
  return result;
}

inline int element(int seed, int index) {
  return static_cast<int>((static_cast<unsigned>(seed) * 2654435761u + index * 40503u) &
                          0x3FFFFFFF);
}

inline std::vector<int> pattern(int count, int seed) {
  std::vector<int> result(count);
  for (int i = 0; i < count; ++i) result[i] = element(seed, i);
  return result;
}

// The first place where the ints differ from the pattern, or -1.
inline int differs(const int* data, int count, int seed, int first = 0) {
  for (int i = 0; i < count; ++i)
    if (data[i] != element(seed, first + i)) return i;
  return -1;
}

constexpr int untouched = -559038737;

// Ints `step` apart.
struct Sparse {
  int step;
  MPI_Datatype type;
  explicit Sparse(int s) : step(s) {
    MUST(MPI_Type_create_resized(MPI_INT, 0, s * MPI_Aint(sizeof(int)), &type));
    MUST(MPI_Type_commit(&type));
  }
  ~Sparse() { MPI_Type_free(&type); }
};

}  // namespace check
