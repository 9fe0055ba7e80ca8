// What is free somewhere is for whoever lacks it. One thread plays two ranks in turn.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "match/engine.h"
#include "node/process.h"

namespace meantime::match {
namespace {

const Typed untyped{[](const LocalSend&, std::size_t, void*, std::size_t) {},
                    [](const LocalReceive&, std::size_t, const void*, std::size_t) {}};
constexpr std::size_t small = 128;

class MemoryTest : public testing::Test {
 protected:
  struct Player {
    explicit Player(int world_rank) {
      rank.world_rank = world_rank;
      rank.world_size = 2;
      rank.area = &node::segment().area(world_rank);
      node::publish_process(*rank.area);
      rank.engine = std::make_shared<Engine>(rank, untyped);
      rank.engine->prepare();
    }
    Engine& engine() { return *rank.engine; }

    std::vector<Link> take_all(std::size_t bytes) {
      std::vector<Link> places;
      while (const Link place = engine().memory.find(bytes)) {
        places.push_back(place);
      }
      return places;
    }
    void release(const std::vector<Link>& places, std::size_t bytes) {
      for (const Link place : places) {
        engine().pool.release(place, bytes);
      }
    }

    Rank rank;
  };

  void SetUp() override {
    descriptor_ = node::create_segment(2, 2);
    ASSERT_GE(descriptor_, 0);
    ASSERT_EQ(node::segment().map(descriptor_), 0);
    getrlimit(RLIMIT_FSIZE, &before_);
    allow(64 * 1024);
    one = std::make_unique<Player>(0);
    other = std::make_unique<Player>(1);
  }
  void TearDown() override {
    one.reset();
    other.reset();
    setrlimit(RLIMIT_FSIZE, &before_);
    node::segment().unmap();
    close(descriptor_);
  }
  /// The segment may grow by so much.
  void allow(std::uint64_t bytes) const {
    const rlimit limit{node::segment().header().heap_end + bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  /// Empty messages from one to the other, as many as go into cells.
  int send_all() const {
    int sent = 0;
    while (Message* const message = one->engine().sends.eager_cell(1, 0, true)) {
      message->envelope() = {4, 0, 0};
      one->engine().sends.push(*message);
      ++sent;
    }
    return sent;
  }
  void receive(int messages) const {
    for (int received = 0; received < messages; ++received) {
      Message* const message = other->engine().catch_message({4, 0, 0}, 0, false);
      ASSERT_NE(message, nullptr);
      other->engine().empty(*message);
    }
  }
  void leave() const {
    one->engine().leave();
    node::segment().header().finalized = 1;
  }
  static std::uint32_t wanting() { return node::segment().header().wanting; }

  std::unique_ptr<Player> one;
  std::unique_ptr<Player> other;

 private:
  int descriptor_ = -1;
  rlimit before_{};
};

TEST_F(MemoryTest, WhatASleeperHasGoesToWhoLacksIt) {
  one->release(one->take_all(small), small);
  one->engine().progress();  // it wants no more
  EXPECT_EQ(wanting(), 0u);
  one->engine().memory.let_go();
  EXPECT_TRUE(node::segment().header().given_up.empty()) << "nobody wants it";

  EXPECT_EQ(other->engine().memory.find(4096), 0u);
  EXPECT_EQ(wanting(), 1u);
  EXPECT_EQ(other->rank.area->wants_memory, 1u);
  one->engine().memory.let_go();
  EXPECT_FALSE(node::segment().header().given_up.empty());
  EXPECT_NE(other->engine().memory.find(4096), 0u);
  other->engine().progress();
  EXPECT_EQ(wanting(), 0u);
  EXPECT_EQ(other->rank.area->wants_memory, 0u);
}

TEST_F(MemoryTest, WhoLeavesKeepsNothing) {
  one->release(one->take_all(small), small);
  one->engine().leave();
  EXPECT_NE(other->engine().memory.find(32 * 1024), 0u);
}

TEST_F(MemoryTest, TwoThatWantDoNotKeepEachOtherFromIt) {
  const std::vector<Link> all = one->take_all(small);
  other->take_all(small);
  EXPECT_EQ(wanting(), 2u);
  one->release({all.begin(), all.begin() + 3}, small);
  EXPECT_EQ(one->engine().memory.find(4096), 0u);  // less than it needs, and it goes on wanting
  one->engine().memory.let_go();
  EXPECT_NE(other->engine().memory.find(small), 0u);
  other->engine().memory.let_go();
  EXPECT_FALSE(node::segment().header().given_up.empty()) << "what is left over";
}

TEST_F(MemoryTest, AReceiveIsThereHoweverFullTheSegmentIs) {
  one->take_all(small);
  LocalReceive receive;
  std::vector<Receive*> entries;
  while (one->engine().take_entry(receive)) {
    entries.push_back(receive.entry);
  }
  EXPECT_GE(entries.size(), 8u);
  for (Receive* entry : entries) {
    one->engine().memory.release(*entry);
  }
  EXPECT_TRUE(one->engine().take_entry(receive));
}

TEST_F(MemoryTest, NobodySearchesWithAMatchLockInHand) {
  allow(512 * 1024);  // a ring takes 72 KiB
  const auto send = [this] {
    const Envelope envelope{4, 0, 0};
    if (char* const place = one->engine().sends.eager_slot(1, 1, envelope)) {
      *place = 0;
      one->engine().sends.push_slot(1);
      return true;
    }
    Message* const message = one->engine().sends.eager_cell(1, 0, true);
    message->envelope() = envelope;
    one->engine().sends.push(*message);
    return false;
  };
  for (int sent = 0; !send(); ++sent) {
    ASSERT_LT(sent, 100) << "there is no ring";
  }
  other->engine().progress();  // adopts what came by it
  const Link piece = one->engine().memory.find(4096);
  other->take_all(small);
  other->engine().progress();  // it wants no more
  one->engine().pool.release(piece, 4096);
  one->engine().pool.give_up_all();
  ASSERT_TRUE(send());
  other->engine().progress();
  EXPECT_FALSE(node::segment().header().given_up.empty());
  EXPECT_NE(other->engine().matcher.probe({4, 0, 0}, true), nullptr);
}

TEST_F(MemoryTest, EmptyCellsAreOfUseForEverything) {
  // All memory becomes cells of 128 bytes, which the other one empties.
  const int sent = send_all();
  EXPECT_GT(sent, 400);
  receive(sent);
  other->engine().memory.let_go();  // gives the last ones back, too
  EXPECT_NE(one->engine().memory.find(static_cast<std::size_t>(sent) * 128 / 2), 0u);
}

TEST_F(MemoryTest, WhatNobodyReceivesLeavesTheSegment) {
  const auto send = [this](int tag, char payload) {
    Message* const message = one->engine().sends.eager_cell(1, small, true);
    if (message != nullptr) {
      message->envelope() = {4, 0, tag};
      std::memset(payload_of(*message), payload, small);
      one->engine().sends.push(*message);
    }
    return message != nullptr;
  };
  const auto receive = [this](int tag, char payload) {
    std::vector<char> buffer(small);
    LocalReceive receive;
    receive.envelope() = {4, 0, tag};
    receive.address = reinterpret_cast<std::uint64_t>(buffer.data());
    receive.capacity = small;
    ASSERT_TRUE(other->engine().take_entry(receive));
    other->engine().post(receive);
    ASSERT_TRUE(other->engine().finished(receive));
    EXPECT_EQ(buffer, std::vector<char>(small, payload));
  };
  int sent = 0;
  while (send(sent % 2, static_cast<char>(sent / 2))) {
    ++sent;
  }
  ASSERT_GT(sent, 100);
  other->engine().let_go();
  EXPECT_TRUE(send(0, 'x')) << "its memory is back";
  EXPECT_TRUE(send(1, 'y'));
  // First what has left it, in order; with wildcards, too.
  receive(1, 0);
  receive(MPI_ANY_TAG, 0);
  Message* const third = other->engine().matcher.probe({4, MPI_ANY_SOURCE, MPI_ANY_TAG}, false);
  ASSERT_NE(third, nullptr);
  EXPECT_EQ(third->tag, 0);
  EXPECT_EQ(other->engine().matcher.probe({4, 0, 0}, true), third);
  other->engine().empty(*third);
  Message* const fourth = other->engine().catch_message({4, 0, 1}, 0, false);
  ASSERT_NE(fourth, nullptr);
  EXPECT_EQ(*payload_of(*fourth), 1);
  other->engine().empty(*fourth);
  for (int next = 4; next < sent; ++next) {
    receive(next % 2, static_cast<char>(next / 2));
  }
  receive(1, 'y');
  receive(0, 'x');
}

TEST_F(MemoryTest, ASynchronousOneLeavesTheSegmentAndIsOverWithItsMatch) {
  std::vector<LocalSend> sends(1000);  // more than there is memory for
  for (LocalSend& send : sends) {
    send.envelope() = {4, 0, static_cast<int>(&send - sends.data())};
    send.destination = 1;
    send.synchronous = true;
    ASSERT_EQ(one->engine().sends.start(send), 0);
  }
  ASSERT_TRUE(one->engine().sends.has_waiting());
  for (int turn = 0; one->engine().sends.has_waiting(); ++turn) {
    ASSERT_LT(turn, 1000);
    other->engine().let_go();
    one->engine().progress();
  }
  const auto over = [&] {
    return std::count_if(sends.begin(), sends.end(),
                         [this](auto& send) { return one->engine().sends.finished(send); });
  };
  EXPECT_EQ(over(), 0);
  for (int tag = static_cast<int>(sends.size()); tag-- > 0;) {
    LocalReceive receive;
    receive.envelope() = {4, 0, tag};
    ASSERT_TRUE(other->engine().take_entry(receive));
    other->engine().post(receive);
    ASSERT_TRUE(other->engine().finished(receive));
    EXPECT_EQ(receive.received.tag, tag);
    if (tag % 100 == 0) {
      do {  // with the memory that the sender gives up
        one->engine().progress();
        one->engine().let_go();
        other->engine().progress();
      } while (other->engine().owes_notices());
      one->engine().progress();
      EXPECT_EQ(over(), static_cast<long>(sends.size()) - tag);
    }
  }
}

TEST_F(MemoryTest, WhatComesBackToWhoHasLeftIsForTheOthers) {
  const int sent = send_all();
  receive(sent / 4);
  leave();
  receive(sent - sent / 4);
  EXPECT_NE(other->engine().memory.find(static_cast<std::size_t>(sent) * 128 / 2), 0u);
}

TEST_F(MemoryTest, SoDoesWhatItHasLeftBehind) {
  Engine& sender = one->engine();
  sender.limits.pair_credit = sender.limits.rank_credit = small;
  sender.limits.most_credit = 64 * 1024;
  sender.limits.overflow_after_ns = 0;
  other->rank.area->report.state = static_cast<std::uint32_t>(node::RankState::waiting);
  std::vector<LocalSend> sends(150);  // each in a cell of 256 bytes
  for (LocalSend& send : sends) {
    send.context = 4;
    send.destination = 1;
    ASSERT_EQ(sender.sends.start(send), 0);
  }
  sender.progress();
  EXPECT_TRUE(std::all_of(sends.begin(), sends.end(), [](auto& send) { return send.done; }));
  const auto receive_synchronous = [this] {
    LocalReceive receive;
    receive.context = 4;
    ASSERT_TRUE(other->engine().take_entry(receive));
    other->engine().post(receive);
    EXPECT_TRUE(other->engine().finished(receive));
  };
  receive_synchronous();
  leave();
  for (std::size_t received = 1; received < sends.size(); ++received) {
    receive_synchronous();
  }
  other->engine().memory.let_go();  // gives the last ones back, too
  EXPECT_NE(other->engine().memory.find(24 * 1024), 0u);
  sender.come_back();
}

TEST_F(MemoryTest, WhoComesBackHasItsCreditAgain) {
  Engine& sender = one->engine();
  sender.limits.pair_credit = sender.limits.rank_credit = 100 * small;
  sender.limits.most_credit = 0;
  for (const bool others_take : {false, true, true, false}) {
    ASSERT_EQ(send_all(), 100);
    receive(50);
    other->engine().memory.let_go();
    leave();
    receive(50);
    other->engine().memory.let_go();
    if (others_take) {
      const std::vector<Link> all = other->take_all(small);
      EXPECT_GT(all.size(), 400u);
      other->release(all, small);
      other->engine().pool.give_up_all();
      other->engine().progress();  // it wants no more
    }
    sender.come_back();
    node::segment().header().finalized = 0;
  }
  // Not all of it was read when it began anew.
  ASSERT_EQ(send_all(), 100);
  receive(50);
  leave();
  other->take_all(small);
  sender.come_back();
  other->engine().progress();
  receive(50);
  other->engine().memory.let_go();
  EXPECT_EQ(wanting(), 0u);
  EXPECT_GT(send_all(), 0);
}

}  // namespace
}  // namespace meantime::match
