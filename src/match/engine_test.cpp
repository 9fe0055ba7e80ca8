// The matching engine with threads as ranks over one segment, so that ThreadSanitizer sees all of
// them: inbox, right, requests, transfers, doorbells. Every stream's order and contents are
// checked.
#include "match/engine.h"

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include "match/items.h"
#include "wait/doorbell.h"
#include "wait/wait.h"

namespace meantime::match {
namespace {

struct Send : LocalSend {
  std::vector<char> data;
};
struct TypedReceive : LocalReceive {
  std::vector<char> data;
};

const Typed typed{
    [](const LocalSend& send, std::size_t offset, void* to, std::size_t bytes) {
      std::memcpy(to, static_cast<const Send&>(send).data.data() + offset, bytes);
    },
    [](const LocalReceive& receive, std::size_t offset, const void* from, std::size_t bytes) {
      auto& data = const_cast<std::vector<char>&>(static_cast<const TypedReceive&>(receive).data);
      std::memcpy(data.data() + offset, from, bytes);
    }};

/// One thread that plays a rank.
class Player {
 public:
  Player(int world_rank, int ranks) {
    rank_.world_rank = world_rank;
    rank_.world_size = ranks;
    rank_.area = &node::segment().area(world_rank);
    rank_.area->pid.store(getpid());
    node::Segment& segment = node::segment();
    rank_.engine = std::make_shared<Engine>(rank_, typed);
    EXPECT_TRUE(rank_.engine->prepare());
    waiter_ = segment.at<node::Waiter>(segment.grow(4096));
    waiter_->owner = static_cast<std::uint32_t>(world_rank);
  }

  Engine& engine() { return *rank_.engine; }
  Rank& rank() { return rank_; }

  /// Waits as wait::until does, with a sleep after a few fruitless turns.
  template <class Ready>
  void until(Ready ready, LocalSend* send, Receive* receive) {
    for (int turn = 0; !ready(); ++turn) {
      if (engine().progress() || turn % 16 != 15) {
        continue;
      }
      node::Mailbox& box = rank_.area->mailbox;
      wait::begin_sleep(*waiter_);
      box.sleeper.store(wait::sleep_of(*waiter_));
      box.sleepers.fetch_add(1);
      wait::expect(*waiter_, 1);
      const int leaves =
          send != nullptr ? engine().arm(*send, *waiter_) : engine().arm(*receive, *waiter_);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      engine().progress();
      if (leaves > 0 && !ready()) {
        wait::sleep_until_rung(*waiter_);
      }
      box.sleeper.store(0);
      wait::end_sleep(*waiter_);
      if (send != nullptr) {
        engine().disarm(*send);
      } else {
        engine().disarm(*receive);
      }
      box.sleepers.fetch_sub(1);
    }
  }

 private:
  Rank rank_;
  node::Waiter* waiter_;
};

/// This thread is that rank for a scope.
class RunsAs {
 public:
  explicit RunsAs(Rank& rank) : before_(meantime::detail::current_rank) {
    meantime::detail::current_rank = &rank;
  }
  ~RunsAs() { meantime::detail::current_rank = before_; }
  RunsAs(const RunsAs&) = delete;
  RunsAs& operator=(const RunsAs&) = delete;

 private:
  Rank* const before_;
};

class EngineTest : public testing::Test {
 protected:
  void make_job(int ranks) {
    descriptor_ = node::create_segment(ranks, 2);
    ASSERT_GE(descriptor_, 0);
    ASSERT_EQ(node::segment().map(descriptor_), 0);
    node::segment().header().on_deadlock = 2;  // threads of one process are no ranks to look at
  }
  ~EngineTest() override {
    node::segment().unmap();
    close(descriptor_);
  }

 private:
  int descriptor_ = -1;
};

std::size_t random_size(std::mt19937& random) {
  constexpr std::size_t sizes[] = {0, 1, 8, 16, 17, 200, 4096, 8192, 8193, 100'000, 300'000};
  return sizes[random() % std::size(sizes)];
}

void fill(std::vector<char>& data, int from, unsigned number) {
  for (std::size_t index = 0; index < data.size(); ++index) {
    data[index] =
        static_cast<char>(from * 31 + static_cast<int>(number) * 7 + static_cast<int>(index));
  }
}

// In each round every rank sends to every other one and receives as much, in random order and with
// random sizes, now and then synchronously, non-contiguous, or from any source.
void play(int me, int ranks, int rounds, bool piped, std::atomic<int>& failures) {
  Player player(me, ranks);
  Engine& engine = player.engine();
  std::mt19937 random(static_cast<unsigned>(me) * 977 + 1);
  std::map<std::pair<int, int>, std::mt19937> expected;  // (source, destination) → sizes
  const auto sizes = [&](int from, int to) -> std::mt19937& {
    return expected.try_emplace({from, to}, static_cast<unsigned>(from * 1000 + to)).first->second;
  };
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::unique_ptr<Send>> sends;
    std::vector<std::unique_ptr<TypedReceive>> receives;
    const bool posted_first = random() % 2 == 0;
    const auto start_sends = [&] {
      for (int step = 1; step < ranks; ++step) {
        const int to = (me + step) % ranks;
        auto send = std::make_unique<Send>();
        send->data.resize(random_size(sizes(me, to)));
        fill(send->data, me, static_cast<unsigned>(round));
        send->context = 2;
        send->source = me;
        send->tag = round % 3;
        send->destination = to;
        send->bytes = send->data.size();
        send->synchronous = random() % 4 == 0;
        send->contiguous = piped || random() % 4 == 0 ? nullptr : send->data.data();
        Message* message =
            send->synchronous ? nullptr : engine.eager_cell(to, send->data.size(), true);
        if (message != nullptr) {
          message->context = 2;
          message->source = me;
          message->tag = round % 3;
          std::memcpy(payload_of(*message), send->data.data(), send->data.size());
          engine.push(*message);
        } else {
          ASSERT_EQ(engine.start(*send), MPI_SUCCESS);
          sends.push_back(std::move(send));
        }
      }
    };
    const auto start_receives = [&] {
      for (int step = 1; step < ranks; ++step) {
        const int from = (me + ranks - step) % ranks;
        auto receive = std::make_unique<TypedReceive>();
        receive->data.resize(random_size(sizes(from, me)));
        const bool contiguous = !piped && random() % 4 != 0;
        Receive* entry = engine.new_receive(
            *receive, 2, from, random() % 2 == 0 ? MPI_ANY_TAG : round % 3,
            contiguous ? reinterpret_cast<std::uint64_t>(receive->data.data()) : 0,
            receive->data.size());
        ASSERT_NE(entry, nullptr);
        engine.post(*entry);
        receives.push_back(std::move(receive));
      }
    };
    if (posted_first) {
      start_receives();
      start_sends();
    } else {
      start_sends();
      start_receives();
    }
    for (auto& receive : receives) {
      Receive* entry = receive->entry;
      player.until([&] { return engine.finished(*entry); }, nullptr, entry);
      std::vector<char> wanted(receive->data.size());
      fill(wanted, entry->matched_source, static_cast<unsigned>(round));
      if (entry->matched_bytes != wanted.size() || entry->error != MPI_SUCCESS ||
          wanted != receive->data) {
        ++failures;
      }
      engine.release(*entry);
    }
    for (auto& send : sends) {
      player.until([&] { return engine.finished(*send); }, send.get(), nullptr);
    }
  }
}

void play_all(int ranks, int rounds, bool piped) {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { play(rank, ranks, rounds, piped, failures); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(failures, 0);
}

TEST_F(EngineTest, TwoRanks) {
  make_job(2);
  play_all(2, 400, false);
}

TEST_F(EngineTest, FiveRanks) {
  make_job(5);
  play_all(5, 100, false);
}

TEST_F(EngineTest, FiveRanksThroughPipes) {
  make_job(5);
  play_all(5, 60, true);
}

TEST_F(EngineTest, WildcardsTakeTheEarliest) {
  make_job(2);
  Player sender(0, 2);
  Player receiver(1, 2);
  const auto say = [&](std::int32_t tag, char what) {
    Message* message = sender.engine().eager_cell(1, 1, true);
    ASSERT_NE(message, nullptr);
    message->context = 2;
    message->source = 0;
    message->tag = tag;
    *payload_of(*message) = what;
    sender.engine().push(*message);
  };
  const auto hear = [&](std::int32_t source, std::int32_t tag) {
    TypedReceive receive;
    receive.data.resize(1);
    Receive* entry = receiver.engine().new_receive(
        receive, 2, source, tag, reinterpret_cast<std::uint64_t>(receive.data.data()), 1);
    receiver.engine().post(*entry);
    EXPECT_TRUE(receiver.engine().finished(*entry));
    receiver.engine().release(*entry);
    return receive.data[0];
  };
  say(1, 'a');
  say(2, 'b');
  say(1, 'c');
  EXPECT_EQ(hear(MPI_ANY_SOURCE, MPI_ANY_TAG), 'a');
  EXPECT_EQ(hear(0, 1), 'c');
  EXPECT_EQ(hear(MPI_ANY_SOURCE, 2), 'b');
}

TEST_F(EngineTest, TakenBackReceiveMatchesNothing) {
  make_job(1);
  Player player(0, 1);
  Engine& engine = player.engine();
  TypedReceive receive;
  receive.data.resize(8);
  Receive* entry =
      engine.new_receive(receive, 2, 0, 1, reinterpret_cast<std::uint64_t>(receive.data.data()), 8);
  engine.post(*entry);
  EXPECT_TRUE(engine.cancel(*entry));
  Message* message = engine.eager_cell(0, 8, true);
  message->context = 2;
  message->source = 0;
  message->tag = 1;
  engine.push(*message);
  engine.progress();
  EXPECT_NE(engine.probe(2, 0, 1, false), nullptr);
  EXPECT_EQ(entry->state.load(), cancelled);
}

TEST_F(EngineTest, ArmingForTheRankEndsWithItsOwnScope) {
  make_job(1);
  Player player(0, 1);
  const RunsAs runs_as(player.rank());
  const bool& for_rank = player.engine().arms_for_rank;
  {
    const ArmingForRank outer;
    { const ArmingForRank inner; }
    EXPECT_TRUE(for_rank);
  }
  EXPECT_FALSE(for_rank);
}

TEST_F(EngineTest, ManyUnexpectedStayWithinTheCredit) {
  make_job(2);
  Player sender(0, 2);
  Player receiver(1, 2);
  std::vector<std::unique_ptr<Send>> sends;
  int eager = 0;
  constexpr int messages = 20'000;
  for (int number = 0; number < messages; ++number) {
    if (Message* message = sender.engine().eager_cell(1, 1024, true)) {
      message->context = 2;
      message->source = 0;
      message->tag = number % 100;
      sender.engine().push(*message);
      ++eager;
      continue;
    }
    auto send = std::make_unique<Send>();
    send->data.resize(1024);
    send->context = 2;
    send->tag = number % 100;
    send->destination = 1;
    send->bytes = 1024;
    send->contiguous = send->data.data();
    ASSERT_EQ(sender.engine().start(*send), MPI_SUCCESS);
    sends.push_back(std::move(send));
  }
  EXPECT_LE(eager * 2048u, sender.engine().limits.pair_credit);  // cells of 2 KiB
  EXPECT_LT(node::segment().header().heap_end.load(), 16u << 20);
  for (int number = 0; number < messages; ++number) {
    TypedReceive receive;
    receive.data.resize(1024);
    Receive* entry = receiver.engine().new_receive(
        receive, 2, 0, number % 100, reinterpret_cast<std::uint64_t>(receive.data.data()), 1024);
    receiver.engine().post(*entry);
    while (!receiver.engine().finished(*entry)) {
      receiver.engine().progress();
      sender.engine().progress();
    }
    receiver.engine().release(*entry);
  }
  for (auto& send : sends) {
    EXPECT_TRUE(sender.engine().finished(*send));
  }
}

}  // namespace
}  // namespace meantime::match
