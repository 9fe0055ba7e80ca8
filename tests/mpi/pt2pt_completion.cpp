// Wait and Test, each of one, any, all, some: over active, null and inactive requests of mixed
// kinds; indices, flags, statuses, requests set to null exactly when finished.
#include "check.h"

using namespace check;

constexpr int n = 24;

static int size_of(int i) {
  static const int sizes[] = {0, 4, 64, 1000, 5000, 70000, 200000, 16};
  return sizes[i % 8];
}

struct Round {
  std::vector<std::vector<unsigned char>> out{n}, in{n};
  std::vector<MPI_Request> requests;  // n receives, then n sends
  std::vector<int> seen;

  // Sends go to the next rank, in an order of their own; the receives are posted before or after.
  explicit Round(int salt) : requests(2 * n, MPI_REQUEST_NULL), seen(2 * n, 0) {
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    Random random(salt * 100 + rank);
    std::vector<int> order(n);
    for (int i = 0; i < n; ++i) order[i] = i;
    for (int i = n - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
    for (int late = 0; late < 2; ++late) {
      for (int i = 0; i < n; ++i)
        if ((i % 2 == 1) == (late == 1)) {
          in[i].assign(size_of(i) + 8, 0xEE);
          MUST(MPI_Irecv(in[i].data(), size_of(i) + 8, MPI_BYTE, from, i, MPI_COMM_WORLD,
                         &requests[i]));
        }
      if (!late)
        for (int i : order) {
          out[i].resize(size_of(i));
          fill(out[i].data(), out[i].size(), rank * 100 + i);
          MUST(MPI_Isend(out[i].data(), size_of(i), MPI_BYTE, to, i, MPI_COMM_WORLD,
                         &requests[n + i]));
        }
    }
  }

  void finished(int i, const MPI_Status* status, const char* what) {
    CHECK(i >= 0 && i < 2 * n, "%s: index %d", what, i);
    if (i < 0 || i >= 2 * n) return;
    CHECK(!seen[i]++, "%s: request %d finished twice", what, i);
    CHECK(requests[i] == MPI_REQUEST_NULL, "%s: request %d is not null", what, i);
    if (i >= n) return;
    const int from = (rank + size - 1) % size;
    if (status) {
      int count = -1;
      MPI_Get_count(status, MPI_BYTE, &count);
      CHECK(status->MPI_SOURCE == from && status->MPI_TAG == i && count == size_of(i),
            "%s: request %d: source %d tag %d count %d", what, i, status->MPI_SOURCE,
            status->MPI_TAG, count);
    }
    long wrong = first_wrong(in[i].data(), size_of(i), from * 100 + i);
    CHECK(wrong < 0, "%s: request %d: byte %ld wrong", what, i, wrong);
  }

  void all_seen(const char* what) {
    for (int i = 0; i < 2 * n; ++i) CHECK(seen[i] == 1, "%s: request %d seen %d", what, i, seen[i]);
  }
};

static void check_empty(const MPI_Status& status, const char* what) {
  int count = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG && count == 0,
        "%s: source %d tag %d count %d", what, status.MPI_SOURCE, status.MPI_TAG, count);
}

static void one_by_one(bool test, int salt) {
  Round round(salt);
  for (int k = 0; k < 2 * n; ++k) {
    const int i = (k * 7 + 3) % (2 * n);
    MPI_Status status;
    int flag = 0;
    if (test)
      while (!flag) MUST(MPI_Test(&round.requests[i], &flag, &status));
    else
      MUST(MPI_Wait(&round.requests[i], &status));
    round.finished(i, &status, test ? "Test" : "Wait");
    MUST(MPI_Wait(&round.requests[i], &status));  // null: returns at once, empty status
    check_empty(status, "Wait of null");
  }
  round.all_seen("one");
}

static void any(bool test, int salt) {
  Round round(salt);
  for (int k = 0; k < 2 * n; ++k) {
    MPI_Status status;
    int flag = 0, index = -5;
    if (test)
      while (!flag) MUST(MPI_Testany(2 * n, round.requests.data(), &index, &flag, &status));
    else
      MUST(MPI_Waitany(2 * n, round.requests.data(), &index, &status));
    round.finished(index, &status, test ? "Testany" : "Waitany");
  }
  round.all_seen("any");
  int flag = 0, index = 0;
  MPI_Status status;
  MUST(MPI_Testany(2 * n, round.requests.data(), &index, &flag, &status));
  CHECK(flag && index == MPI_UNDEFINED);
  check_empty(status, "Testany of nulls");
  MUST(MPI_Waitany(2 * n, round.requests.data(), &index, &status));
  CHECK(index == MPI_UNDEFINED);
  check_empty(status, "Waitany of nulls");
  MUST(MPI_Waitany(0, nullptr, &index, &status));
  CHECK(index == MPI_UNDEFINED);
}

static void all(bool test, int salt, bool ignore) {
  Round round(salt);
  std::vector<MPI_Status> statuses(2 * n);
  MPI_Status* where = ignore ? MPI_STATUSES_IGNORE : statuses.data();
  int flag = 0;
  if (test)
    while (!flag) {
      MUST(MPI_Testall(2 * n, round.requests.data(), &flag, where));
      if (!flag)  // not all finished: none is touched
        for (auto request : round.requests) CHECK(request != MPI_REQUEST_NULL);
    }
  else
    MUST(MPI_Waitall(2 * n, round.requests.data(), where));
  for (int i = 0; i < 2 * n; ++i)
    round.finished(i, ignore ? nullptr : &statuses[i], test ? "Testall" : "Waitall");
  flag = 0;
  MUST(MPI_Testall(2 * n, round.requests.data(), &flag, statuses.data()));
  CHECK(flag);
  for (auto& status : statuses) check_empty(status, "Testall of nulls");
}

static void some(bool test, int salt) {
  Round round(salt);
  std::vector<MPI_Status> statuses(2 * n);
  std::vector<int> indices(2 * n);
  for (int done = 0; done < 2 * n;) {
    int count = 0;
    if (test)
      MUST(MPI_Testsome(2 * n, round.requests.data(), &count, indices.data(), statuses.data()));
    else
      MUST(MPI_Waitsome(2 * n, round.requests.data(), &count, indices.data(), statuses.data()));
    CHECK(count >= (test ? 0 : 1) && count <= 2 * n - done, "count %d", count);
    if (count < 0 || count > 2 * n) break;
    for (int k = 0; k < count; ++k)
      round.finished(indices[k], &statuses[k], test ? "Testsome" : "Waitsome");
    done += count;
  }
  round.all_seen("some");
  int count = 0;
  MUST(MPI_Waitsome(2 * n, round.requests.data(), &count, indices.data(), statuses.data()));
  CHECK(count == MPI_UNDEFINED);
  MUST(MPI_Testsome(2 * n, round.requests.data(), &count, indices.data(), statuses.data()));
  CHECK(count == MPI_UNDEFINED);
}

// Request_get_status tells without finishing.
static void get_status(int salt) {
  Round round(salt);
  for (int i = 0; i < 2 * n; ++i) {
    int flag = 0;
    MPI_Status status;
    while (!flag) MUST(MPI_Request_get_status(round.requests[i], &flag, &status));
    CHECK(round.requests[i] != MPI_REQUEST_NULL);
    MUST(MPI_Wait(&round.requests[i], &status));
    round.finished(i, &status, "after get_status");
  }
}

int main(int argc, char** argv) {
  start(argc, argv);
  const int rounds = option("rounds", 6);
  for (int r = 0; r < rounds; ++r)
    for (bool test : {false, true}) {
      one_by_one(test, r);
      any(test, r + 100);
      all(test, r + 200, r & 1);
      some(test, r + 300);
      if (!test) get_status(r + 400);
    }
  return finish();
}
