// MPI_THREAD_MULTIPLE: threads with a communicator each, and with one communicator and a tag each;
// one thread blocked in Recv while another sends; requests begun by one thread and finished by
// another; several threads in Waitany, Probe, wildcard receives at once.
#include "check.h"

#include <mutex>

using namespace check;

static int to, from;

static void stream(MPI_Comm comm, int tag, int messages, int salt) {
  static const int sizes[] = {0, 8, 100, 4096, 20000, 70000, 1};
  std::vector<unsigned char> out(70000), in(70000);
  for (int m = 0; m < messages; ++m) {
    const int bytes = sizes[(m + salt) % 7];
    fill(out.data(), bytes, rank * 10000 + tag * 1000 + m);
    MPI_Request request;
    MPI_Status status;
    MUST(MPI_Isend(out.data(), bytes, MPI_BYTE, to, tag, comm, &request));
    MUST(MPI_Recv(in.data(), 70000, MPI_BYTE, m % 3 ? from : int(MPI_ANY_SOURCE), tag, comm,
                  &status));
    int count = -1;
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == bytes, "tag %d message %d: %d bytes, not %d", tag, m, count, bytes);
    CHECK(first_wrong(in.data(), bytes, from * 10000 + tag * 1000 + m) < 0, "tag %d message %d",
          tag, m);
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
}

static void in_threads(int threads, const auto& body) {
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) all.emplace_back([&body, t] { body(t); });
  for (auto& thread : all) thread.join();
}

int main(int argc, char** argv) {
  if (start(argc, argv, MPI_THREAD_MULTIPLE) < MPI_THREAD_MULTIPLE) {
    CHECK(false, "MPI_THREAD_MULTIPLE is not provided");
    return finish();
  }
  int level = -1, main_thread = 0;
  MUST(MPI_Query_thread(&level));
  CHECK(level == MPI_THREAD_MULTIPLE);
  MUST(MPI_Is_thread_main(&main_thread));
  CHECK(main_thread);
  to = (rank + 1) % size, from = (rank + size - 1) % size;
  const int threads = static_cast<int>(option("threads", 4));
  const int messages = static_cast<int>(option("messages", size > 4 ? 60 : 200));

  std::vector<MPI_Comm> comms(threads);
  for (auto& comm : comms) MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  in_threads(threads, [&](int t) { stream(comms[t], 3, messages, t); });  // a communicator each
  in_threads(threads, [&](int t) { stream(MPI_COMM_WORLD, t, messages, t); });  // a tag each

  // All threads with the same tag: each message is received once by somebody.
  {
    std::atomic<long> sum{0};
    in_threads(threads, [&](int t) {
      for (int m = 0; m < messages; ++m) {
        long value = (t * messages + m) * 100l + rank, got = -1;
        MPI_Request request;
        MUST(MPI_Isend(&value, 1, MPI_LONG, to, 9, MPI_COMM_WORLD, &request));
        MUST(MPI_Recv(&got, 1, MPI_LONG, from, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(got % 100 == from);
        sum += got / 100;
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
      }
    });
    const long n = long(threads) * messages;
    CHECK(sum == n * (n - 1) / 2, "messages lost or doubled: %ld, not %ld", sum.load(),
          n * (n - 1) / 2);
  }

  // The same with matched probes: a probe by one thread never steals from another.
  {
    std::atomic<long> sum{0};
    in_threads(threads, [&](int t) {
      for (int m = 0; m < messages; ++m) {
        std::vector<int> value(1 + m % 50, t * messages + m), got(50);
        MPI_Request request;
        MPI_Message message;
        MPI_Status status;
        MUST(MPI_Isend(value.data(), static_cast<int>(value.size()), MPI_INT, to, 10,
                       MPI_COMM_WORLD, &request));
        if (t & 1) {
          MUST(MPI_Mprobe(from, 10, MPI_COMM_WORLD, &message, &status));
        } else {
          int flag = 0;
          while (!flag) {
            MUST(MPI_Improbe(MPI_ANY_SOURCE, 10, MPI_COMM_WORLD, &flag, &message, &status));
            if (!flag) std::this_thread::yield();
          }
        }
        int count = -1;
        MPI_Get_count(&status, MPI_INT, &count);
        MUST(MPI_Mrecv(got.data(), count, MPI_INT, &message, MPI_STATUS_IGNORE));
        for (int i = 1; i < count; ++i) CHECK(got[i] == got[0]);
        sum += got[0];
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
      }
    });
    const long n = long(threads) * messages;
    CHECK(sum == n * (n - 1) / 2, "probed messages lost or doubled");
  }

  // One thread is blocked in Recv (nothing comes for 100 ms) while another sends to itself.
  {
    std::thread blocked([] {
      int value = 0;
      MUST(MPI_Recv(&value, 1, MPI_INT, rank, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(value == 4711);
    });
    stream(comms[0], 21, 50, 0);
    sleep_ms(100);
    int value = 4711;
    MUST(MPI_Send(&value, 1, MPI_INT, rank, 20, MPI_COMM_WORLD));
    blocked.join();
  }

  // Requests begun here, finished there; finished and waited for at the same time elsewhere.
  {
    std::mutex mutex;
    std::vector<MPI_Request> pool;
    std::vector<std::vector<unsigned char>> in(messages), out(messages);
    std::vector<MPI_Request> sends(messages);
    for (int m = 0; m < messages; ++m) {
      in[m].resize(1000), out[m].resize(1000);
      fill(out[m].data(), 1000, rank * 1000 + m);
      MPI_Request request;
      MUST(MPI_Irecv(in[m].data(), 1000, MPI_BYTE, from, 30, MPI_COMM_WORLD, &request));
      pool.push_back(request);
    }
    std::thread sender([&] {
      for (int m = 0; m < messages; ++m) {
        if (m % 50 == 0) sleep_ms(1);
        MUST(MPI_Isend(out[m].data(), 1000, MPI_BYTE, to, 30, MPI_COMM_WORLD, &sends[m]));
      }
    });
    in_threads(threads, [&](int) {
      for (;;) {
        MPI_Request request;
        {
          std::lock_guard lock(mutex);
          if (pool.empty()) return;
          request = pool.back();
          pool.pop_back();
        }
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
      }
    });
    sender.join();
    in_threads(threads, [&](int t) {
      for (int m = t; m < messages; m += threads) MUST(MPI_Wait(&sends[m], MPI_STATUS_IGNORE));
    });
    for (int m = 0; m < messages; ++m)
      CHECK(first_wrong(in[m].data(), 1000, from * 1000 + m) < 0, "begun here, finished there: %d",
            m);
  }

  // Each thread in Waitany over requests of its own.
  in_threads(threads, [&](int t) {
    constexpr int n = 20;
    int in[n], out[n];
    MPI_Request requests[2 * n];
    for (int i = 0; i < n; ++i)
      MUST(MPI_Irecv(&in[i], 1, MPI_INT, from, i, comms[t], &requests[i]));
    for (int i = n - 1; i >= 0; --i) {
      out[i] = rank * 100 + i;
      MUST(MPI_Isend(&out[i], 1, MPI_INT, to, i, comms[t], &requests[n + i]));
    }
    for (int k = 0; k < 2 * n; ++k) {
      int index = -1;
      MUST(MPI_Waitany(2 * n, requests, &index, MPI_STATUS_IGNORE));
      if (index >= 0 && index < n) CHECK(in[index] == from * 100 + index);
    }
  });
  for (auto& comm : comms) MUST(MPI_Comm_free(&comm));
  return finish();
}
