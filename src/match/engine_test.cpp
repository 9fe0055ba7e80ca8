// The matching engine with threads as ranks over one segment, so that ThreadSanitizer sees all of
// them: inbox, match lock, requests, transfers, doorbells. Every stream's order and contents are
// checked.
#include "match/engine.h"

#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "match/items.h"
#include "match/probers.h"
#include "node/process.h"
#include "sleep/doorbell.h"
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

/// Posted, with data of its size.
void post(Engine& engine, TypedReceive& receive, const Envelope& wanted, bool contiguous = true) {
  receive.envelope() = wanted;
  receive.capacity = receive.data.size();
  receive.address = contiguous ? reinterpret_cast<std::uint64_t>(receive.data.data()) : 0;
  ASSERT_TRUE(engine.take_entry(receive));
  engine.post(receive);
}

/// One thread that plays a rank.
class Player {
 public:
  Player(int world_rank, int ranks) {
    rank_.world_rank = world_rank;
    rank_.world_size = ranks;
    rank_.area = &node::segment().area(world_rank);
    node::publish_process(*rank_.area);
    node::Segment& segment = node::segment();
    rank_.engine = std::make_shared<Engine>(rank_, typed);
    rank_.engine->prepare();
    waiter_ = segment.at<node::Waiter>(segment.grow(4096));
    waiter_->owner = static_cast<std::uint32_t>(world_rank);
  }

  Engine& engine() { return *rank_.engine; }
  Rank& rank() { return rank_; }
  node::Waiter& waiter() { return *waiter_; }

  /// Waits as wait::until does, with a sleep after a few fruitless turns.
  template <class Ready>
  void until(Ready ready, LocalSend* send, LocalReceive* receive) {
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
          send != nullptr ? engine().sends.arm(*send, *waiter_) : engine().arm(*receive, *waiter_);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      engine().progress();
      if (leaves > 0 && !ready()) {
        wait::sleep_until_signalled(*waiter_);
      }
      box.sleeper.store(0);
      wait::end_sleep(*waiter_);
      if (send != nullptr) {
        engine().sends.disarm(*send);
      } else if (receive != nullptr) {  // always; GCC's sanitizers do not know
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
        send->envelope() = {2, me, round % 3};
        send->destination = to;
        send->bytes = send->data.size();
        send->synchronous = random() % 4 == 0;
        send->contiguous = piped || random() % 4 == 0 ? nullptr : send->data.data();
        char* slot = send->synchronous || send->data.size() > eager_slot_bytes
                         ? nullptr
                         : engine.sends.eager_slot(to, send->data.size(), {2, me, round % 3});
        Message* message = send->synchronous || slot != nullptr
                               ? nullptr
                               : engine.sends.eager_cell(to, send->data.size(), true);
        if (slot != nullptr) {
          std::memcpy(slot, send->data.data(), send->data.size());
          engine.sends.push_slot(to);
        } else if (message != nullptr) {
          message->envelope() = {2, me, round % 3};
          std::memcpy(payload_of(*message), send->data.data(), send->data.size());
          engine.sends.push(*message);
        } else {
          ASSERT_EQ(engine.sends.start(*send), MPI_SUCCESS);
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
        post(engine, *receive, {2, from, random() % 2 == 0 ? MPI_ANY_TAG : round % 3}, contiguous);
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
      player.until([&] { return engine.finished(*receive); }, nullptr, receive.get());
      std::vector<char> wanted(receive->data.size());
      const Received& received = receive->received;
      fill(wanted, received.source, static_cast<unsigned>(round));
      if (received.bytes != wanted.size() || received.error != MPI_SUCCESS ||
          wanted != receive->data) {
        ++failures;
      }
    }
    for (auto& send : sends) {
      player.until([&] { return engine.sends.finished(*send); }, send.get(), nullptr);
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
  EXPECT_NE(eager_ring_from(node::segment().area(0), 1), nullptr);  // they had rings
  EXPECT_NE(eager_ring_from(node::segment().area(1), 0), nullptr);
}

TEST_F(EngineTest, MoreRanksThanRings) {
  make_job(10);
  play_all(10, 100, false);
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
    Message* message = sender.engine().sends.eager_cell(1, 1, true);
    ASSERT_NE(message, nullptr);
    message->envelope() = {2, 0, tag};
    *payload_of(*message) = what;
    sender.engine().sends.push(*message);
  };
  const auto hear = [&](std::int32_t source, std::int32_t tag) {
    TypedReceive receive;
    receive.data.resize(1);
    post(receiver.engine(), receive, {2, source, tag});
    EXPECT_TRUE(receiver.engine().finished(receive));
    return receive.data[0];
  };
  say(1, 'a');
  say(2, 'b');
  say(1, 'c');
  EXPECT_EQ(hear(MPI_ANY_SOURCE, MPI_ANY_TAG), 'a');
  EXPECT_EQ(hear(0, 1), 'c');
  EXPECT_EQ(hear(MPI_ANY_SOURCE, 2), 'b');
}

// A sender's messages take the ring or the inbox, in whichever order; the receiver posts, catches
// or probes. Nothing overtakes.
TEST_F(EngineTest, RingAndInboxKeepTheOrder) {
  make_job(2);
  Player sender(0, 2);
  Player receiver(1, 2);
  std::mt19937 random(5);
  unsigned said = 0;
  unsigned heard = 0;
  int by_ring = 0;
  const auto say = [&](bool may_take_ring) {
    const std::size_t bytes = random() % 3 == 0 ? 40 : sizeof said;
    const Envelope envelope{2, 0, 7};
    char* place = may_take_ring ? sender.engine().sends.eager_slot(1, bytes, envelope) : nullptr;
    if (place != nullptr) {
      std::memcpy(place, &said, sizeof said);
      sender.engine().sends.push_slot(1);
      ++by_ring;
    } else {
      Message* message = sender.engine().sends.eager_cell(1, bytes, true);
      ASSERT_NE(message, nullptr);
      message->envelope() = envelope;
      std::memcpy(payload_of(*message), &said, sizeof said);
      sender.engine().sends.push(*message);
    }
    ++said;
  };
  const auto check = [&](const void* payload) {
    unsigned number = 0;
    std::memcpy(&number, payload, sizeof number);
    ASSERT_EQ(number, heard++);
  };
  const auto hear = [&] {
    Engine& engine = receiver.engine();
    switch (random() % 4) {
      case 0: {
        Message* message = engine.catch_message({2, 0, 7}, 1, false);
        ASSERT_NE(message, nullptr);
        check(payload_of(*message));
        engine.empty(*message);
        return;
      }
      case 1: {
        Message* message = engine.matcher.probe({2, MPI_ANY_SOURCE, 7}, true);
        ASSERT_NE(message, nullptr);
        check(payload_of(*message));
        engine.empty(*message);
        return;
      }
      default: {
        TypedReceive receive;
        receive.data.resize(64);
        post(engine, receive, {2, 0, 7});
        engine.progress();
        ASSERT_TRUE(engine.finished(receive));
        check(receive.data.data());
      }
    }
  };
  for (int round = 0; round < 2'000; ++round) {
    const bool may_take_ring = random() % 4 != 0;
    for (unsigned more = random() % 300; more > 0; --more) {
      say(may_take_ring || random() % 8 == 0);
    }
    for (unsigned most = random() % 300; most > 0 && heard != said; --most) {
      hear();
      if (HasFatalFailure()) {
        return;
      }
    }
  }
  EXPECT_GT(by_ring, 10'000);
  while (heard != said && !HasFatalFailure()) {
    hear();
  }
  // All cells are where they belong: as many messages go again.
  EXPECT_LT(node::segment().header().heap_end.load(), 64u << 20);
}

/// By the ring if there is one.
bool say_short(Player& sender, int to, char what, bool by_ring) {
  Engine& engine = sender.engine();
  const Envelope envelope{2, sender.rank().world_rank, 7};
  if (by_ring) {
    char* place = engine.sends.eager_slot(to, 1, envelope);
    if (place == nullptr) {
      return false;
    }
    *place = what;
    engine.sends.push_slot(to);
    return true;
  }
  Message* message = engine.sends.eager_cell(to, 1, true);
  if (message == nullptr) {
    return false;
  }
  message->envelope() = envelope;
  *payload_of(*message) = what;
  engine.sends.push(*message);
  return true;
}

char catch_short(Player& receiver, std::int32_t source) {
  Message* message = receiver.engine().catch_message({2, source, 7}, 1, false);
  if (message == nullptr) {
    return '-';
  }
  const char what = *payload_of(*message);
  receiver.engine().empty(*message);
  return what;
}

/// From the next message on there is a ring.
void make_ring(Player& sender, int to, Player& receiver) {
  while (!say_short(sender, to, 'r', true)) {
    ASSERT_TRUE(say_short(sender, to, 'r', false));
    ASSERT_EQ(catch_short(receiver, sender.rank().world_rank), 'r');
  }
  ASSERT_EQ(catch_short(receiver, sender.rank().world_rank), 'r');
}

/// What becomes of receives and messages, as the standard says it.
class Model {
 public:
  struct Posted {
    TypedReceive receive;
    Envelope wanted;
    int message = nobody;
  };
  static constexpr int nobody = -1;

  void send(const Envelope& envelope, int number) {
    for (const std::unique_ptr<Posted>& posted : posted_) {
      if (posted->message == nobody && takes(posted->wanted, envelope)) {
        posted->message = number;
        return;
      }
    }
    unexpected_.emplace_back(envelope, number);
  }
  Posted& post(const Envelope& wanted) {
    posted_.push_back(std::make_unique<Posted>());
    Posted& posted = *posted_.back();
    posted.wanted = wanted;
    const auto found =
        std::find_if(unexpected_.begin(), unexpected_.end(),
                     [&](const auto& message) { return takes(wanted, message.first); });
    if (found != unexpected_.end()) {
      posted.message = found->second;
      unexpected_.erase(found);
    }
    return posted;
  }
  /// Balance: how many more messages than receives wait.
  int surplus() const {
    return static_cast<int>(unexpected_.size()) - static_cast<int>(posted_.size());
  }
  std::vector<std::unique_ptr<Posted>>& posted() { return posted_; }

 private:
  std::vector<std::unique_ptr<Posted>> posted_;
  std::vector<std::pair<Envelope, int>> unexpected_;
};

/// As long as the timer says, say.
void sleep_in_vain(Player& player, LocalReceive& receive) {
  wait::begin_sleep(player.waiter());
  player.rank().area->mailbox.sleepers.fetch_add(1);
  player.engine().arm(receive, player.waiter());
  player.engine().progress();
  wait::end_sleep(player.waiter());
  player.rank().area->mailbox.sleepers.fetch_sub(1);
  player.engine().disarm(receive);
}

// Short receives stay private to their rank, long ones do not; the sender matches for the receiver
// now and then, as for one that sleeps, and the receiver looks into the sender's mailbox; some
// receives are cancelled, some are blocking, some find the match lock taken, and some are slept
// for.
TEST_F(EngineTest, PrivateReceivesTakeTheirMessages) {
  make_job(2);
  Player sender(0, 2);
  Player receiver(1, 2);
  make_ring(sender, 1, receiver);
  Engine& engine = receiver.engine();
  Model model;
  std::mt19937 random(11);
  std::atomic<std::uint32_t>& lock = receiver.rank().area->mailbox.match_lock;
  int said = 0;
  int received = 0;
  int caught = 0;
  int cancels = 0;
  int taken_back = 0;
  const auto collect = [&] {
    std::erase_if(model.posted(), [&](const std::unique_ptr<Model::Posted>& posted) {
      const bool over = engine.finished(posted->receive);
      EXPECT_EQ(over, posted->message != Model::nobody);
      if (over) {
        int number = 0;
        std::memcpy(&number, posted->receive.data.data(), sizeof number);
        EXPECT_EQ(number, posted->message);
        ++received;
      }
      return over;
    });
  };
  for (int step = 0; step < 100'000 && !HasFailure(); ++step) {
    const int tag = static_cast<int>(random() % 3);
    switch (random() % 16) {
      case 0:
        engine.progress();
        collect();
        break;
      case 1:
        sender.engine().matcher.drain(1);
        break;
      case 2:
        EXPECT_FALSE(engine.matcher.copy_to_posted(0, {2, 1, 0}, nullptr, 0));
        break;
      case 3:
        if (!model.posted().empty()) {
          TypedReceive& receive = model.posted()[random() % model.posted().size()]->receive;
          sleep_in_vain(receiver, receive);
          taken_back += receive.is_private ? 1 : 0;
        }
        break;
      case 4:
        if (!model.posted().empty()) {
          const std::size_t place = random() % model.posted().size();
          Model::Posted& posted = *model.posted()[place];
          engine.matcher.cancel(posted.receive);
          engine.progress();  // if there is a match already
          ASSERT_TRUE(engine.finished(posted.receive));
          EXPECT_EQ(posted.receive.was_cancelled, posted.message == Model::nobody);
          if (posted.receive.was_cancelled) {
            model.posted().erase(model.posted().begin() + static_cast<std::ptrdiff_t>(place));
            ++cancels;
          }
        }
        break;
      default:
        if (random() % 2 == 0 && model.surplus() < 100) {
          const Envelope envelope{2, 0, tag};
          model.send(envelope, said);
          char* place = random() % 4 != 0
                            ? sender.engine().sends.eager_slot(1, sizeof said, envelope)
                            : nullptr;
          if (place != nullptr) {
            std::memcpy(place, &said, sizeof said);
            sender.engine().sends.push_slot(1);
          } else {
            Message* message = sender.engine().sends.eager_cell(1, sizeof said, true);
            ASSERT_NE(message, nullptr);
            message->envelope() = envelope;
            std::memcpy(payload_of(*message), &said, sizeof said);
            sender.engine().sends.push(*message);
          }
          ++said;
        } else if (model.surplus() > -100) {
          const Envelope wanted{2, random() % 2 == 0 ? 0 : MPI_ANY_SOURCE,
                                random() % 4 != 0 ? tag : MPI_ANY_TAG};
          Model::Posted& posted = model.post(wanted);
          if (random() % 8 == 0) {
            Message* const message = engine.matcher.catch_message(wanted, 0, nullptr);
            ASSERT_EQ(message != nullptr, posted.message != Model::nobody);
            if (message != nullptr) {
              int number = 0;
              std::memcpy(&number, payload_of(*message), sizeof number);
              EXPECT_EQ(number, posted.message);
              engine.empty(*message);
              ++caught;
            }
            model.posted().pop_back();
            break;
          }
          posted.receive.data.resize(random() % 8 != 0 ? 64 : 16 * 1024);
          const bool others_match = random() % 8 == 0;
          lock.store(others_match ? 1 : 0);
          post(engine, posted.receive, wanted, random() % 8 != 0);
          lock.store(0);
        }
    }
  }
  EXPECT_GT(received, 10'000);
  EXPECT_GT(caught, 100);
  EXPECT_GT(taken_back, 20);
  EXPECT_GT(cancels, 100);
}

// Between the two steps of Transitions::leave_to_owner the owner finds a receive on its attention
// list that is still posted. What would happen the other way round: a rank in MPI_Waitany, 12 runs
// of 12 with 300 us between the steps, slept for ever.
TEST_F(EngineTest, WhatIsBeingMatchedStaysOnTheAttentionList) {
  make_job(2);
  Player sender(0, 2);
  Player receiver(1, 2);
  TypedReceive receive;
  receive.data.resize(16 * 1024);  // not a private one
  post(receiver.engine(), receive, {2, 0, 7});
  node::LinkStack& list = receiver.rank().area->mailbox.attention;
  const Link entry = node::segment().link(receive.entry);
  list.push(entry, receive.entry->next);
  EXPECT_FALSE(receiver.engine().progress()) << "a rank with nothing else to do may sleep";
  EXPECT_FALSE(receiver.engine().finished(receive));
  EXPECT_EQ(list.take_all(), entry);
  ASSERT_TRUE(say_short(sender, 1, 'a', false));
  receiver.engine().progress();
  EXPECT_TRUE(receiver.engine().finished(receive));
}

// A receive that was posted while somebody else held the match lock lies in the inbox, behind the
// message that it is for. A blocking receive that comes later does not get that one.
TEST_F(EngineTest, AnEarlierReceiveInTheInboxComesFirst) {
  for (const bool by_ring : {false, true}) {
    make_job(2);
    Player sender(0, 2);
    Player receiver(1, 2);
    make_ring(sender, 1, receiver);
    std::atomic<std::uint32_t>& lock = receiver.rank().area->mailbox.match_lock;
    lock.store(1);
    ASSERT_TRUE(say_short(sender, 1, 'a', by_ring));
    TypedReceive receive;
    receive.data.resize(1);
    post(receiver.engine(), receive, {2, 0, 7});
    lock.store(0);
    ASSERT_TRUE(say_short(sender, 1, 'b', by_ring));
    EXPECT_EQ(catch_short(receiver, 0), 'b') << by_ring;
    EXPECT_TRUE(receiver.engine().finished(receive));
    EXPECT_EQ(receive.data[0], 'a');
  }
}

// Who floods its ring does not keep the others' messages from being received.
TEST_F(EngineTest, RingsTakeTurns) {
  make_job(3);
  Player flood(0, 3);
  Player other(1, 3);
  Player receiver(2, 3);
  make_ring(flood, 2, receiver);
  make_ring(other, 2, receiver);
  ASSERT_TRUE(say_short(flood, 2, 'f', true));
  ASSERT_TRUE(say_short(other, 2, 'o', true));
  std::string caught;
  for (int turn = 0; turn < 4; ++turn) {
    ASSERT_TRUE(say_short(flood, 2, 'f', true));
    caught += catch_short(receiver, MPI_ANY_SOURCE);
  }
  EXPECT_NE(caught.find('o'), std::string::npos) << caught;
}

// A message in a ring is sent: it is received, whether there is memory to keep it or not.
TEST_F(EngineTest, NoMemoryForWhatNobodyWaitsFor) {
  make_job(2);
  Player sender(0, 2);
  Player receiver(1, 2);
  make_ring(sender, 1, receiver);
  node::segment().header().heap_end.store(node::segment().header().limit);
  for (int size_class = 20; size_class >= 6; --size_class) {
    while (receiver.engine().pool.allocate(std::size_t{1} << size_class) != 0) {
    }
  }
  std::string said;
  for (;; said += static_cast<char>('a' + said.size() % 26)) {
    if (!say_short(sender, 1, static_cast<char>('a' + said.size() % 26), true)) {
      break;
    }
    ASSERT_LT(said.size(), 1'000u);
    receiver.engine().matcher.probe({2, MPI_ANY_SOURCE, 8}, false);  // keeps what is for nobody
  }
  EXPECT_GE(said.size(), EagerRing::slots - 2);  // but those that made the ring
  std::string heard;
  while (heard.size() < said.size()) {
    heard += catch_short(receiver, 0);
    ASSERT_NE(heard.back(), '-');
  }
  EXPECT_EQ(heard, said);
}

TEST_F(EngineTest, TakenBackReceiveMatchesNothing) {
  make_job(1);
  Player player(0, 1);
  Engine& engine = player.engine();
  TypedReceive receive;
  receive.data.resize(8);
  post(engine, receive, {2, 0, 1});
  engine.matcher.cancel(receive);
  Message* message = engine.sends.eager_cell(0, 8, true);
  message->envelope() = {2, 0, 1};
  engine.sends.push(*message);
  engine.progress();
  EXPECT_NE(engine.matcher.probe({2, 0, 1}, false), nullptr);
  EXPECT_TRUE(engine.finished(receive));
  EXPECT_TRUE(receive.was_cancelled);
}

/// A process that is stopped until the end of the scope.
class StoppedProcess {
 public:
  StoppedProcess() : id_(fork()) {
    if (id_ == 0) {
      for (;;) {
        pause();
      }
    }
    kill(id_, SIGSTOP);
    int status = 0;
    waitpid(id_, &status, WUNTRACED);
  }
  ~StoppedProcess() {
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  StoppedProcess(const StoppedProcess&) = delete;
  StoppedProcess& operator=(const StoppedProcess&) = delete;
  pid_t id() const { return id_; }

 private:
  pid_t id_;
};

TEST_F(EngineTest, ARankThatIsStoppedWithTheMatchLockHoldsUpNobody) {
  make_job(2);
  Player player(0, 2);
  Player other(1, 2);
  const RunsAs runs(player.rank());
  Engine& engine = player.engine();
  node::Mailbox& box = player.rank().area->mailbox;
  Message* message = other.engine().sends.eager_cell(0, 0, true);
  message->envelope() = {2, 1, 1};
  other.engine().sends.push(*message);
  TypedReceive receive;
  post(engine, receive, {2, 0, 7});
  auto& waiter = *node::segment().at<node::Waiter>(node::segment().grow(4096));
  engine.matcher.arm_probe(waiter, {2, 0, 9});
  {
    const StoppedProcess stopped;
    other.rank().area->pid = stopped.id();
    box.match_lock = 2;  // it stopped just after it took it
    EXPECT_EQ(engine.matcher.probe({2, 1, 1}, false), nullptr);
    engine.matcher.disarm_probe(waiter);
    EXPECT_EQ(waiter.probed_context.load(), no_context);
    engine.matcher.cancel(receive);
    EXPECT_FALSE(engine.finished(receive));
    EXPECT_TRUE(engine.starving()) << "nobody rings when it goes on";
  }
  box.match_lock = 0;
  EXPECT_TRUE(engine.finished(receive));
  EXPECT_TRUE(receive.was_cancelled);
  EXPECT_FALSE(engine.starving());
  EXPECT_NE(engine.matcher.probe({2, 1, 1}, false), nullptr);
  engine.matcher.arm_probe(waiter, {2, 0, 8});  // again, though it was on the list
  engine.matcher.disarm_probe(waiter);
  EXPECT_EQ(box.probers, 0u);
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

/// From rank 0, of context 2.
void prepare(Send& send, int destination, int tag, std::size_t bytes, char value = 0) {
  send.data.assign(bytes, value);
  send.context = 2;
  send.tag = tag;
  send.destination = destination;
  send.bytes = bytes;
  send.contiguous = send.data.data();
}

/// What comes for such a receive; `meanwhile` is called until it is there.
template <class Function>
std::vector<char> received(Player& receiver, int tag, std::size_t bytes, Function meanwhile) {
  TypedReceive receive;
  receive.data.resize(bytes);
  post(receiver.engine(), receive, {2, 0, tag});
  while (!receiver.engine().finished(receive)) {
    meanwhile();
  }
  return receive.data;
}

TEST_F(EngineTest, ManyUnexpectedStayWithinTheCredit) {
  make_job(2);
  Player sender(0, 2);
  Player receiver(1, 2);
  sender.engine().limits.most_credit = 0;
  std::vector<std::unique_ptr<Send>> sends;
  int eager = 0;
  constexpr int messages = 20'000;
  for (int number = 0; number < messages; ++number) {
    if (Message* message = sender.engine().sends.eager_cell(1, 1024, true)) {
      message->envelope() = {2, 0, number % 100};
      sender.engine().sends.push(*message);
      ++eager;
      continue;
    }
    auto send = std::make_unique<Send>();
    prepare(*send, 1, number % 100, 1024);
    ASSERT_EQ(sender.engine().sends.start(*send), MPI_SUCCESS);
    sends.push_back(std::move(send));
  }
  const std::size_t credit = sender.engine().limits.pair_credit;
  EXPECT_LE(eager * 2048u, credit);  // cells of 2 KiB
  EXPECT_LT(node::segment().header().heap_end.load(), credit + (8u << 20));
  for (int number = 0; number < messages; ++number) {
    received(receiver, number % 100, 1024, [&] {
      receiver.engine().progress();
      sender.engine().progress();
    });
  }
  for (auto& send : sends) {
    EXPECT_TRUE(sender.engine().sends.finished(*send));
  }
}

/// What is sent is the sender's again when it overflows, and arrives as it was.
TEST_F(EngineTest, ShortOnesThatNobodyReadsOverflow) {
  make_job(2);
  Player sender(0, 2);
  Player receiver(1, 2);
  Limits& limits = sender.engine().limits;
  limits.pair_credit = 0;
  limits.most_credit = 1 << 20;
  limits.overflow_after_ns = 0;
  receiver.rank().area->report.state.store(static_cast<std::uint32_t>(node::RankState::waiting));
  constexpr int messages = 6000;  // in cells of 256 bytes or 512: the last are beyond that, too
  constexpr std::size_t bytes = 100;
  std::vector<std::unique_ptr<Send>> waiting;
  for (int number = 0; number < messages; ++number) {
    if (Message* const message =
            sender.engine().sends.eager_cell(1, bytes, true)) {  // it has grown
      message->envelope() = {2, 0, 0};
      std::memset(payload_of(*message), number, bytes);
      sender.engine().sends.push(*message);
      continue;
    }
    auto send = std::make_unique<Send>();
    prepare(*send, 1, 0, bytes, static_cast<char>(number));
    ASSERT_EQ(sender.engine().sends.start(*send), MPI_SUCCESS);
    sender.engine().progress();
    if (sender.engine().sends.finished(*send)) {
      send->data.assign(bytes, 'x');
    } else {
      EXPECT_FALSE(sender.engine().starving());
      waiting.push_back(std::move(send));
    }
  }
  EXPECT_FALSE(waiting.empty());
  for (int number = 0; number < messages; ++number) {
    EXPECT_EQ(received(receiver, 0, bytes,
                       [&] {
                         receiver.engine().progress();
                         sender.engine().progress();
                       }),
              std::vector<char>(bytes, static_cast<char>(number)));
  }
  for (auto& send : waiting) {
    EXPECT_TRUE(sender.engine().sends.finished(*send));
  }
}

/// Also of what lies behind a message that is never read, and at another rank.
TEST_F(EngineTest, CreditThatBecomesFreeIsFound) {
  make_job(3);
  Player sender(0, 3);
  Player receiver(1, 3);
  Player other(2, 3);
  Engine& engine = sender.engine();
  engine.limits.pair_credit = engine.limits.rank_credit = 0;
  engine.limits.most_credit = 1 << 16;
  engine.limits.overflow_after_ns = 0;
  for (Player* player : {&receiver, &other}) {
    player->rank().area->report.state.store(static_cast<std::uint32_t>(node::RankState::waiting));
  }
  constexpr int messages = (1 << 16) / 512;
  constexpr std::size_t bytes = 100;
  const auto send_all_to = [&](int destination) {
    std::vector<Send> sends(messages);
    for (int number = 0; number < messages; ++number) {
      Send& send = sends[static_cast<std::size_t>(number)];
      prepare(send, destination, number, bytes);
      EXPECT_EQ(engine.sends.eager_cell(destination, bytes, true), nullptr);
      EXPECT_EQ(engine.sends.start(send), MPI_SUCCESS);
    }
    engine.progress();
    for (Send& send : sends) {
      EXPECT_TRUE(engine.sends.finished(send)) << send.tag << " to " << destination;
    }
  };
  send_all_to(1);
  for (int tag = 1; tag < messages; ++tag) {  // the first is never read
    received(receiver, tag, bytes, [] { throw std::logic_error("it is not there at once"); });
  }
  engine.limits.most_credit += 512;  // for that one
  send_all_to(2);
}

}  // namespace
}  // namespace meantime::match
