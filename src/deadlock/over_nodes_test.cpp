// The judge alone, then a model of nodes that send each other messages, with every delay between
// what happens and what is told of it: by chance, but the same each time.
#include "deadlock/over_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

namespace meantime::wait {
namespace {

using Next = OverNodes::Next;

NodeState still(std::uint64_t sent = 0, std::uint64_t taken = 0) {
  NodeState state;
  state.verdict = Verdict::deadlock;
  state.waiting = 2;
  state.moves = 7;
  state.sent = sent;
  state.taken = taken;
  return state;
}

/// The same answers in each wave, until there is a result.
Next ask(OverNodes& nodes, const std::vector<NodeState>& answers) {
  Next next = nodes.begin();
  while (next == Next::ask_all) {
    const std::uint64_t wave = nodes.wave();
    next = Next::wait;
    for (std::size_t node = 0; next == Next::wait; ++node) {
      next = nodes.take(wave, node, answers[node]);
    }
  }
  return next;
}

TEST(OverNodes, AllStill) {
  OverNodes nodes(2);
  EXPECT_EQ(ask(nodes, {still(3, 1), still(1, 3)}), Next::deadlock);
}

TEST(OverNodes, OneRuns) {
  OverNodes nodes(3);
  EXPECT_EQ(ask(nodes, {still(), NodeState{}, still()}), Next::nothing);
  EXPECT_EQ(ask(nodes, {still(), still(), still()}), Next::deadlock);
}

TEST(OverNodes, OneIsInDoubt) {
  for (const Verdict verdict : {Verdict::doubt, Verdict::quiet}) {
    OverNodes nodes(2);
    NodeState doubts = still();
    doubts.verdict = verdict;
    EXPECT_EQ(ask(nodes, {doubts, still()}), Next::look_later);
  }
}

TEST(OverNodes, AMessageIsUnderWay) {
  OverNodes nodes(2);
  EXPECT_EQ(ask(nodes, {still(3, 1), still(1, 2)}), Next::look_later);
}

TEST(OverNodes, AnOfferLiesThereOrItsEndIsUnderWay) {
  OverNodes nodes(2);
  NodeState sender = still(1, 0);
  NodeState receiver = still(0, 1);
  sender.under_way = receiver.offered = 1;
  EXPECT_EQ(ask(nodes, {sender, receiver}), Next::deadlock);
  receiver.offered = 0;
  EXPECT_EQ(ask(nodes, {sender, receiver}), Next::look_later);
}

TEST(OverNodes, AllHaveEnded) {
  OverNodes nodes(2);
  NodeState gone = still();
  gone.waiting = 0;
  EXPECT_EQ(ask(nodes, {gone, gone}), Next::look_later);
  EXPECT_EQ(ask(nodes, {gone, still()}), Next::deadlock);
}

TEST(OverNodes, OneMovesBetweenTheWaves) {
  OverNodes nodes(2);
  ASSERT_EQ(nodes.begin(), Next::ask_all);
  EXPECT_EQ(nodes.take(nodes.wave(), 0, still()), Next::wait);
  ASSERT_EQ(nodes.take(nodes.wave(), 1, still()), Next::ask_all);
  NodeState moved = still();
  ++moved.moves;
  EXPECT_EQ(nodes.take(nodes.wave(), 0, moved), Next::wait);
  EXPECT_EQ(nodes.take(nodes.wave(), 1, still()), Next::look_later);
}

TEST(OverNodes, OneBecomesStillBehindItsAnswer) {
  OverNodes nodes(2);
  ASSERT_EQ(nodes.begin(), Next::ask_all);
  const std::uint64_t first = nodes.wave();
  EXPECT_EQ(nodes.begin(), Next::wait);  // node 1 says that it is still now
  EXPECT_EQ(nodes.take(first, 1, NodeState{}), Next::ask_all);
  EXPECT_EQ(nodes.take(first, 0, still()), Next::wait);  // of the wave that is over
  EXPECT_EQ(nodes.take(nodes.wave(), 0, still()), Next::wait);
  EXPECT_EQ(nodes.take(nodes.wave(), 1, still()), Next::ask_all);
}

TEST(NodeState, InWordsAndBack) {
  NodeState state = still(12345678901234, 5);
  state.under_way = 3;
  state.offered = 2;
  EXPECT_EQ(words_of(state), "deadlock 2 7 12345678901234 5 3 2");
  EXPECT_EQ(node_state_of(words_of(state)), state);
  EXPECT_EQ(node_state_of(words_of(NodeState{})), NodeState{});
  for (const char* const wrong :
       {"", "deadlock", "asleep 1 2 3 4 5 6", "quiet 1 2 3 4 5", "quiet 1 2 3 4 5 6 7",
        "quiet 1 2 3 4 5 x", "quiet  1 2 3 4 5 6", "quiet 1 2 3 4 5 -6"}) {
    EXPECT_EQ(node_state_of(wrong), std::nullopt) << wrong;
  }
}

// --- The model

struct Node {
  bool awake = true;
  bool is_to_tell = false;  ///< its last sleeper has not looked yet
  NodeState says;           ///< its figures
  int fetching = 0;
  std::vector<std::size_t> offers;  ///< whose, that lie here
};

enum class Kind { eager, offer, request, payload, read, acknowledgement, tells, question, answer };

struct Packet {
  Kind kind;
  std::size_t from;
  std::size_t to;
  NodeState state;  ///< of an answer …
  std::uint64_t wave = 0;
};

/// What UCX and src/match/ways/remote.cpp do, and somebody who asks.
class Model {
 public:
  Model(std::uint32_t seed, std::size_t nodes) : chance_(seed), nodes_(nodes), judge_(nodes) {}

  /// Until the judge says deadlock, or for long. Returns how often one wave alone would have said
  /// so wrongly.
  int run() {
    for (int steps = 0; !found_ && steps < 100'000; ++steps) {
      step();
    }
    return wrong_by_one_wave_;
  }
  bool found() const { return found_; }
  bool is_dead() const {
    return std::all_of(nodes_.begin(), nodes_.end(),
                       [](const Node& node) { return !node.awake && node.fetching == 0; }) &&
           std::none_of(packets_.begin(), packets_.end(),
                        [](const Packet& packet) { return packet.kind < Kind::tells; });
  }

 private:
  std::size_t any(std::size_t below) { return chance_() % below; }

  void step() {
    if (const std::size_t place = any(packets_.size() + nodes_.size() + 1);
        place < packets_.size()) {
      const Packet packet = packets_[place];  // in any order: UCX has several ways
      packets_.erase(packets_.begin() + static_cast<std::ptrdiff_t>(place));
      arrives(packet);
    } else if (place < packets_.size() + nodes_.size()) {
      turn(place - packets_.size());
    } else if (looks_later_) {
      looks_later_ = false;
      heed(judge_.begin());
    }
  }

  void turn(std::size_t number) {
    Node& node = nodes_[number];
    if (!node.awake) {
      if (node.is_to_tell && state_of(node).verdict == Verdict::deadlock) {
        node.is_to_tell = false;
        packets_.push_back({Kind::tells, number, number, {}});
      }
      return;
    }
    const std::size_t to = (number + 1 + any(nodes_.size() - 1)) % nodes_.size();
    switch (any(4)) {
      case 0:
        if (budget_ > 0) {
          --budget_;
          ++node.says.sent;
          packets_.push_back({Kind::eager, number, to, {}});
        }
        break;
      case 1:
        if (budget_ > 0) {
          --budget_;
          ++node.says.sent;
          ++node.says.under_way;
          packets_.push_back({Kind::offer, number, to, {}});
        }
        break;
      case 2:
        if (!node.offers.empty()) {
          --node.says.offered;
          ++node.fetching;
          const std::size_t sender = node.offers.back();
          node.offers.pop_back();
          // It reads the payload itself and says when it has, or asks its sender to send it.
          if (any(2) == 0) {
            packets_.push_back({Kind::read, sender, number, {}});
          } else {
            packets_.push_back({Kind::request, number, sender, {}});
          }
        }
        break;
      default:
        node.awake = false;
        node.is_to_tell = true;
        ++node.says.moves;
    }
  }

  void arrives(const Packet& packet) {
    Node& node = nodes_[packet.to];
    switch (packet.kind) {
      case Kind::offer:
        node.offers.push_back(packet.from);
        ++node.says.offered;
        [[fallthrough]];
      case Kind::eager:
        ++node.says.taken;
        node.awake = true;
        break;
      case Kind::request:  // its sender need not wake for that, and is through with it
        --node.says.under_way;
        packets_.push_back({Kind::payload, packet.to, packet.from, {}});
        break;
      case Kind::payload:
        --node.fetching;
        node.awake = true;
        break;
      case Kind::read:
        --node.fetching;
        node.awake = true;
        packets_.push_back({Kind::acknowledgement, packet.to, packet.from, {}});
        break;
      case Kind::acknowledgement:
        --node.says.under_way;
        node.awake = node.awake || any(2) == 0;  // of thread ranks another thread may hear it
        break;
      case Kind::tells:
        heed(judge_.begin());
        break;
      case Kind::question:
        packets_.push_back({Kind::answer, packet.to, packet.to, state_of(node), packet.wave});
        break;
      case Kind::answer:
        if (packet.wave == judge_.wave()) {
          answers_[packet.to] = packet.state;
          compare_with_one_wave();
        }
        heed(judge_.take(packet.wave, packet.to, packet.state));
        break;
    }
  }

  NodeState state_of(const Node& node) const {
    NodeState state = node.says;
    state.waiting = 1;
    state.verdict = node.awake           ? Verdict::running
                    : node.fetching != 0 ? Verdict::doubt
                                         : Verdict::deadlock;
    return state;
  }

  void heed(Next next) {
    switch (next) {
      case Next::ask_all:
        answers_.assign(nodes_.size(), std::nullopt);
        for (std::size_t node = 0; node < nodes_.size(); ++node) {
          packets_.push_back({Kind::question, node, node, {}, judge_.wave()});
        }
        break;
      case Next::look_later:
        looks_later_ = true;
        break;
      case Next::deadlock:
        found_ = true;
        break;
      case Next::wait:
      case Next::nothing:
        break;
    }
  }

  void compare_with_one_wave() {
    NodeState sum;
    for (const std::optional<NodeState>& answer : answers_) {
      if (!answer || answer->verdict != Verdict::deadlock) {
        return;
      }
      sum.sent += answer->sent - answer->taken;
      sum.under_way += answer->under_way - answer->offered;
    }
    wrong_by_one_wave_ += sum.sent == 0 && sum.under_way == 0 && !is_dead() ? 1 : 0;
  }

  std::mt19937 chance_;
  std::vector<Node> nodes_;
  std::vector<Packet> packets_;
  int budget_ = 12;
  OverNodes judge_;
  std::vector<std::optional<NodeState>> answers_;
  bool looks_later_ = false;
  bool found_ = false;
  int wrong_by_one_wave_ = 0;
};

TEST(OverNodes, NeverTooEarlyAndNeverNot) {
  int wrong_by_one_wave = 0;
  for (std::uint32_t seed = 0; seed < 10'000; ++seed) {
    Model model(seed, 2 + seed % 3);
    wrong_by_one_wave += model.run();
    ASSERT_TRUE(model.found()) << seed;
    ASSERT_TRUE(model.is_dead()) << seed;
  }
  EXPECT_GT(wrong_by_one_wave, 0);  // else the model shows nothing
}

}  // namespace
}  // namespace meantime::wait
