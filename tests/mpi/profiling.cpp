// The profiling interface: this program brings wrappers of its own for MPI calls, as a measurement
// system such as Score-P does, which count, keep the time and call the PMPI_ twin. Each call of the
// program comes by exactly once, none of the library's own does, and results are what they would
// be.
#include <map>

#include "check.h"

using namespace check;

namespace {

struct Region {
  int calls = 0;
  double seconds = 0;
};
std::map<std::string, Region>& regions() {
  static std::map<std::string, Region> all;  // MPI_Init is called before anything else is set up
  return all;
}
int depth = 0;  // calls of wrappers that are under way

using Clock = std::chrono::steady_clock;

class Measured {
 public:
  explicit Measured(const char* name) : region_(regions()[name]), begin_(Clock::now()) {
    CHECK(depth == 0, "%s was called by the library itself", name);
    ++depth;
    ++region_.calls;
  }
  ~Measured() {
    --depth;
    region_.seconds += std::chrono::duration<double>(Clock::now() - begin_).count();
  }

 private:
  Region& region_;
  Clock::time_point begin_;
};

int level = -1;

}  // namespace

#define WRAPPER(result, name, parameters, arguments) \
  extern "C" result MPI_##name parameters {          \
    const Measured measured("MPI_" #name);           \
    return PMPI_##name arguments;                    \
  }

WRAPPER(int, Init, (int* argc, char*** argv), (argc, argv))
WRAPPER(int, Send,
        (const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),
        (buffer, count, type, to, tag, comm))
WRAPPER(int, Recv,
        (void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
         MPI_Status* status),
        (buffer, count, type, from, tag, comm, status))
WRAPPER(int, Isend,
        (const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
         MPI_Request* request),
        (buffer, count, type, to, tag, comm, request))
WRAPPER(int, Irecv,
        (void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
         MPI_Request* request),
        (buffer, count, type, from, tag, comm, request))
WRAPPER(int, Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]),
        (count, requests, statuses))
WRAPPER(int, Barrier, (MPI_Comm comm), (comm))
WRAPPER(int, Allreduce,
        (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
        (in, out, count, type, op, comm))
WRAPPER(int, Ibcast,
        (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request),
        (buffer, count, type, root, comm, request))
WRAPPER(int, Comm_dup, (MPI_Comm comm, MPI_Comm* made), (comm, made))
WRAPPER(int, Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made),
        (comm, color, key, made))
WRAPPER(int, Comm_free, (MPI_Comm * comm), (comm))

extern "C" int MPI_Pcontrol(const int wanted, ...) {
  level = wanted;
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  start(argc, argv);
  CHECK(regions()["MPI_Init"].calls == 1);
  regions().clear();
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  constexpr int count = 100000;
  std::vector<int> out(count, rank), in(count);
  MPI_Comm comm, half;
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MUST(MPI_Comm_split(comm, rank % 2, 0, &half));
  for (int length : {1, count}) {
    MPI_Request requests[2];
    MUST(MPI_Irecv(in.data(), length, MPI_INT, from, 0, comm, &requests[0]));
    MUST(MPI_Isend(out.data(), length, MPI_INT, to, 0, comm, &requests[1]));
    MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(in[length - 1] == from);
    MUST(MPI_Allreduce(out.data(), in.data(), length, MPI_INT, MPI_SUM, comm));
    CHECK(in[0] == size * (size - 1) / 2);
    in[0] = rank;
    MUST(MPI_Ibcast(in.data(), length, MPI_INT, 0, comm, &requests[0]));
    MUST(MPI_Waitall(1, requests, MPI_STATUSES_IGNORE));
    CHECK(in[0] == 0);
  }
  MUST(MPI_Barrier(half));
  MUST(MPI_Comm_free(&half));
  MUST(MPI_Comm_free(&comm));
  MUST(MPI_Pcontrol(2));
  CHECK(level == 2);
  const std::map<std::string, int> expected = {
      {"MPI_Comm_dup", 1},  {"MPI_Comm_split", 1}, {"MPI_Comm_free", 2},
      {"MPI_Irecv", 2},     {"MPI_Isend", 2},      {"MPI_Waitall", 4},
      {"MPI_Allreduce", 2}, {"MPI_Ibcast", 2},     {"MPI_Barrier", 1}};
  for (const auto& [name, calls] : expected)
    CHECK(regions()[name].calls == calls, "%s: %d calls", name.c_str(), regions()[name].calls);
  CHECK(regions().size() == expected.size(), "the library called others");
  return finish();
}
