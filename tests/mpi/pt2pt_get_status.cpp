// MPI_Request_get_status_all, _any and _some: what they tell of requests that are not complete,
// complete, failed or null, and that they leave all of them as they are.
#include "check.h"

using namespace check;

namespace {

constexpr int n = 4;

/// Two receives of four bytes from the left, of which the first may be too short, a null request,
/// and a receive that does not end.
struct Requests {
  char in[n][4] = {};
  MPI_Request all[n];
  bool truncated;

  explicit Requests(bool too_short) : truncated(too_short) {
    MUST(MPI_Irecv(in[0], truncated ? 2 : 4, MPI_CHAR, left(), 1, MPI_COMM_WORLD, &all[0]));
    MUST(MPI_Irecv(in[1], 4, MPI_CHAR, left(), 2, MPI_COMM_WORLD, &all[1]));
    all[2] = MPI_REQUEST_NULL;
    MUST(MPI_Irecv(in[3], 4, MPI_CHAR, left(), 3, MPI_COMM_WORLD, &all[3]));
  }
  static int left() { return (rank + size - 1) % size; }
  static void send(int tag) {
    const char text[] = {'a', 'b', 'c', static_cast<char>('0' + tag)};
    MUST(MPI_Send(text, 4, MPI_CHAR, (rank + 1) % size, tag, MPI_COMM_WORLD));
  }
  void end() {
    MPI_Status statuses[n];
    const int code = MPI_Waitall(n, all, statuses);
    CHECK((error_class(code) == MPI_ERR_IN_STATUS) == truncated, "class %d", error_class(code));
    CHECK(in[1][3] == '2' && in[3][3] == '3');
  }
};

void check_status(const MPI_Status& status, int tag, bool failed) {
  if (failed) {
    CHECK(error_class(status.MPI_ERROR) == MPI_ERR_TRUNCATE, "%d", status.MPI_ERROR);
    return;
  }
  int count = -1;
  MUST(MPI_Get_count(&status, MPI_CHAR, &count));
  CHECK(status.MPI_SOURCE == Requests::left() && status.MPI_TAG == tag && count == 4,
        "source %d, tag %d, count %d", status.MPI_SOURCE, status.MPI_TAG, count);
}

void of_all(bool truncated) {
  Requests requests(truncated);
  MPI_Status statuses[n];
  int flag = -1;
  Requests::send(1);
  Requests::send(2);
  MUST(MPI_Request_get_status_all(n, requests.all, &flag, statuses));
  CHECK(flag == 0);  // nobody has sent the last one
  MUST(MPI_Barrier(MPI_COMM_WORLD));
  Requests::send(3);
  int code = MPI_SUCCESS;
  while (flag == 0) code = MPI_Request_get_status_all(n, requests.all, &flag, statuses);
  CHECK(error_class(code) == (truncated ? MPI_ERR_IN_STATUS : MPI_SUCCESS), "class %d",
        error_class(code));
  check_status(statuses[0], 1, truncated);
  check_status(statuses[1], 2, false);
  CHECK(statuses[2].MPI_TAG == MPI_ANY_TAG);
  check_status(statuses[3], 3, false);
  if (truncated)
    CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS && statuses[3].MPI_ERROR == MPI_SUCCESS);
  CHECK(requests.all[0] != MPI_REQUEST_NULL && requests.all[3] != MPI_REQUEST_NULL);
  MUST(MPI_Barrier(MPI_COMM_WORLD));
  requests.end();
}

void of_some(bool truncated) {
  Requests requests(truncated);
  MPI_Status statuses[n];
  int found = -1, indices[n];
  MUST(MPI_Request_get_status_some(n, requests.all, &found, indices, statuses));
  CHECK(found == 0, "%d", found);
  MUST(MPI_Barrier(MPI_COMM_WORLD));
  Requests::send(1);
  Requests::send(2);
  int code = MPI_SUCCESS, flag;
  while (found < 2) {
    code = MPI_Request_get_status_some(n, requests.all, &found, indices, statuses);
    // MPICH looks for no second one where there is a first.
    if (on_mpich()) MUST(MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  }
  CHECK(error_class(code) == (truncated ? MPI_ERR_IN_STATUS : MPI_SUCCESS), "class %d",
        error_class(code));
  for (int i = 0; i < found; ++i) {
    CHECK(indices[i] == i, "%d", indices[i]);
    check_status(statuses[i], i + 1, truncated && i == 0);
  }
  MUST(MPI_Barrier(MPI_COMM_WORLD));
  Requests::send(3);
  requests.end();
  MUST(MPI_Request_get_status_some(n, requests.all, &found, indices, statuses));
  CHECK(found == MPI_UNDEFINED, "%d", found);
}

void of_any() {
  Requests requests(false);
  MPI_Status status;
  int flag = -1, index = -1;
  MUST(MPI_Request_get_status_any(n, requests.all, &index, &flag, &status));
  CHECK(flag == 0 && index == MPI_UNDEFINED, "%d %d", flag, index);
  MUST(MPI_Barrier(MPI_COMM_WORLD));
  Requests::send(2);
  while (flag == 0) MUST(MPI_Request_get_status_any(n, requests.all, &index, &flag, &status));
  CHECK(index == 1, "%d", index);
  check_status(status, 2, false);
  MUST(MPI_Barrier(MPI_COMM_WORLD));
  Requests::send(1);
  Requests::send(3);
  requests.end();
  MUST(MPI_Request_get_status_any(n, requests.all, &index, &flag, &status));
  CHECK(flag != 0 && index == MPI_UNDEFINED && status.MPI_TAG == MPI_ANY_TAG);
}

void of_none() {
  int flag = 0, index = 0, found = 0;
  MPI_Status status;
  MUST(MPI_Request_get_status_all(0, nullptr, &flag, MPI_STATUSES_IGNORE));
  CHECK(flag != 0);
  MUST(MPI_Request_get_status_any(0, nullptr, &index, &flag, &status));
  CHECK(flag != 0 && index == MPI_UNDEFINED);
  MUST(MPI_Request_get_status_some(0, nullptr, &found, nullptr, MPI_STATUSES_IGNORE));
  CHECK(found == MPI_UNDEFINED);
}

}  // namespace

int main(int argc, char** argv) {
  start(argc, argv);
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  of_all(false);
  of_some(false);
  if (!on_mpich()) {  // which loses requests behind one that has failed
    of_all(true);
    of_some(true);
  }
  of_any();
  of_none();
  return finish();
}
