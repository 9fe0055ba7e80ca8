// The protocol of meetings with threads as members, for ThreadSanitizer: nobody sleeps for ever,
// nobody reads a slot that is written again. Waits are the doorbell's own, without the ladder.
#include "coll/meeting.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "core/comm/communicator.h"
#include "core/error/error.h"
#include "node/segment.h"
#include "rank/rank.h"
#include "sleep/doorbell.h"

namespace meantime::coll {
namespace {

thread_local node::Waiter* own_waiter = nullptr;
thread_local unsigned dice = 1;

unsigned roll() {
  dice = dice * 1664525u + 1013904223u;
  return dice >> 8;
}

void sleep_for(wait::Awaited& what) {
  for (int look = static_cast<int>(roll() % 4); look > 0 && !what.ready(); --look) {
    std::this_thread::yield();
  }
  while (!what.ready()) {
    wait::begin_sleep(*own_waiter);
    what.arm(*own_waiter);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!what.ready()) {
      wait::sleep_until_signalled(*own_waiter);
    }
    wait::end_sleep(*own_waiter);
    what.disarm(*own_waiter);
  }
}

constexpr int most_members = 12;

class Meetings : public ::testing::TestWithParam<int> {
 protected:
  static void SetUpTestSuite() {
    const int descriptor = node::create_segment(most_members, 2);
    ASSERT_GE(descriptor, 0);
    ASSERT_EQ(node::segment().map(descriptor), 0);
    node::segment().header().on_deadlock = 2;
  }

  /// Runs `body(comm, state, member)` as all members of a new communicator.
  template <class Body>
  void run(Body body) {
    const int members = GetParam();
    const node::Link area = node::segment().grow(area_bytes(members));
    ASSERT_NE(area, 0u);
    const node::Link waiters = node::segment().grow(sizeof(node::Waiter) * members);
    std::vector<std::thread> threads;
    for (int member = 0; member < members; ++member) {
      threads.emplace_back([=] {
        Rank rank;  // a process's would be one for all of them
        meantime::detail::current_rank = &rank;
        own_waiter = node::segment().at<node::Waiter>(waiters) + member;
        own_waiter->owner = static_cast<std::uint32_t>(member);
        dice = static_cast<unsigned>(member * 7919 + 1);
        Communicator comm;
        comm.rank = member;
        comm.size = members;
        comm.collective_area = area;
        State state(comm);
        state.until = sleep_for;
        body(comm, state, member);
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
};

void put(Meeting& meeting, std::uint64_t value) {
  std::memcpy(meeting.deposit(sizeof value), &value, sizeof value);
}
std::uint64_t get(Meeting& meeting, int member) {
  std::uint64_t value = 0;
  std::memcpy(&value, meeting.data(member), sizeof value);
  return value;
}

TEST_P(Meetings, EveryoneSeesEveryDeposit) {
  run([](Communicator& comm, State& state, int member) {
    for (std::uint64_t turn = 0; turn < 2000; ++turn) {
      Meeting meeting(comm, state, what(Code::allgather, 0, 8));
      put(meeting, turn * 100 + member);
      if (meeting.arrive()) {
        meeting.open_all();
      }
      ASSERT_EQ(meeting.pass_all(), 0);
      for (int other = 0; other < comm.size; ++other) {
        ASSERT_EQ(get(meeting, other), turn * 100 + other);
      }
    }
  });
}

TEST_P(Meetings, RootsRunAhead) {
  run([](Communicator& comm, State& state, int member) {
    for (std::uint64_t turn = 0; turn < 2000; ++turn) {
      const int root = static_cast<int>(turn / 50 % comm.size);
      const bool down = turn % 7 < 4;
      Meeting meeting(comm, state, what(down ? Code::bcast : Code::gather, root));
      if (down && member == root) {
        put(meeting, turn);
        meeting.open_root();
      }
      if (!down) {
        put(meeting, turn + member);
      }
      if (meeting.arrive()) {
        meeting.open_all();
      }
      if (down && member != root) {
        ASSERT_EQ(meeting.pass_root(), 0);
        ASSERT_EQ(get(meeting, root), turn);
      }
      if (!down && member == root) {
        ASSERT_EQ(meeting.pass_all(), 0);
        for (int other = 0; other < comm.size; ++other) {
          ASSERT_EQ(get(meeting, other), turn + other);
        }
      }
      if (roll() % 256 == 0) {
        usleep(200);
      }
    }
  });
}

TEST_P(Meetings, TheLastOneWorksForAll) {
  run([](Communicator& comm, State& state, int member) {
    for (std::uint64_t turn = 0; turn < 1000; ++turn) {
      Meeting meeting(comm, state, what(Code::allreduce));
      put(meeting, turn + member);
      if (meeting.arrive()) {
        std::uint64_t sum = 0;
        for (int other = 0; other < comm.size; ++other) {
          sum += get(meeting, other);
        }
        std::memcpy(meeting.result(), &sum, sizeof sum);
        meeting.open_all();
      }
      ASSERT_EQ(meeting.pass_all(), 0);
      std::uint64_t sum = 0;
      std::memcpy(&sum, meeting.result(), sizeof sum);
      const auto members = static_cast<std::uint64_t>(comm.size);
      ASSERT_EQ(sum, members * turn + members * (members - 1) / 2);
    }
  });
}

TEST_P(Meetings, WhoCameForSomethingElseIsToldAndNobodyHangs) {
  run([](Communicator& comm, State& state, int member) {
    Meeting meeting(comm, state, member == 0 ? what(Code::barrier) : what(Code::bcast, 0));
    if (meeting.arrive()) {
      meeting.open_all();
    }
    EXPECT_NE(member == 0 ? meeting.pass_all() : meeting.pass_root(), 0);
  });
  run([](Communicator& comm, State& state, int member) {
    Meeting meeting(comm, state, what(Code::allreduce, 0, member == 0 ? 8 : 16));
    if (meeting.arrive()) {
      meeting.open_all();
    }
    EXPECT_EQ(meeting.pass_all(), MPI_ERR_TRUNCATE);
  });
}

// The others must not read what their root has not given yet behind a gate that another opened.
TEST_P(Meetings, OfTwoRootsEachIsReadByItsOwnOrByNobody) {
  run([](Communicator& comm, State& state, int member) {
    const int root = member % 2;
    if (member == 0) {
      usleep(20000);
    }
    Meeting meeting(comm, state, what(Code::bcast, root));
    if (member == root) {
      put(meeting, 100 + root);
      meeting.open_root();
    }
    if (meeting.arrive()) {
      meeting.open_all();
    }
    if (member != root && meeting.pass_root() == 0) {
      EXPECT_EQ(get(meeting, root), 100 + root);
    }
  });
}

TEST_P(Meetings, EveryoneIsToldWhyMemoryIsFull) {
  run([](Communicator& comm, State& state, int) {
    Meeting meeting(comm, state, what(Code::allreduce));
    if (meeting.arrive()) {
      meeting.open_all(MPI_ERR_NO_MEM);
    }
    EXPECT_EQ(meeting.pass_all(), MPI_ERR_NO_MEM);
    EXPECT_NE(error_detail().find("KiB of shared memory are in use"), std::string_view::npos);
  });
}

INSTANTIATE_TEST_SUITE_P(Members, Meetings, ::testing::Values(2, 3, 5, most_members));

}  // namespace
}  // namespace meantime::coll
