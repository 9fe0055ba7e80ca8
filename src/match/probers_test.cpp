#include "match/probers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

namespace meantime::match {
namespace {

class Probers : public testing::Test {
 protected:
  Probers() : descriptor_(node::create_segment(1, 1)) {
    EXPECT_EQ(segment.map(descriptor_), 0);
    waiters = segment.at<node::Waiter>(segment.grow(4096));
  }
  ~Probers() override {
    segment.unmap();
    close(descriptor_);
  }

  void probe(int waiter, std::uint32_t context, std::int32_t source, std::int32_t tag) {
    list_prober(segment, box, waiters[waiter], {context, source, tag});
  }
  void stop(int waiter) { unlist_prober(segment, box, waiters[waiter]); }

  /// Who hears of that message, the last that was listed first.
  std::vector<long> heard(std::uint32_t context, std::int32_t source, std::int32_t tag) {
    Message message{};
    message.context = context;
    message.source = source;
    message.tag = tag;
    std::vector<long> who;
    for_each_prober(segment, box, message,
                    [&](const node::Waiter& prober) { who.push_back(&prober - waiters); });
    return who;
  }

  node::Segment segment;
  node::Mailbox box{};
  node::Waiter* waiters = nullptr;

 private:
  int descriptor_;
};

using Who = std::vector<long>;

TEST_F(Probers, NobodyProbes) {
  EXPECT_EQ(heard(2, 1, 3), Who{});
  probe(0, 2, 1, 3);
  stop(0);
  EXPECT_EQ(heard(2, 1, 3), Who{});
}

TEST_F(Probers, TheMessageThatIsMeant) {
  probe(0, 2, 1, 3);
  EXPECT_EQ(heard(2, 1, 3), Who{0});
  EXPECT_EQ(heard(3, 1, 3), Who{});
  EXPECT_EQ(heard(2, 2, 3), Who{});
  EXPECT_EQ(heard(2, 1, 4), Who{});
  EXPECT_EQ(heard(2, 3, 1), Who{});
}

TEST_F(Probers, Wildcards) {
  probe(0, 2, MPI_ANY_SOURCE, 3);
  probe(1, 2, 7, MPI_ANY_TAG);
  probe(2, 2, MPI_ANY_SOURCE, MPI_ANY_TAG);
  EXPECT_EQ(heard(2, 7, 3), (Who{2, 1, 0}));
  EXPECT_EQ(heard(2, 7, 4), (Who{2, 1}));
  EXPECT_EQ(heard(2, 8, 3), (Who{2, 0}));
  EXPECT_EQ(heard(2, 9, 9), Who{2});
  EXPECT_EQ(heard(4, 9, 9), Who{});
}

TEST_F(Probers, ThreadsThatProbeForDifferentThingsHearOfTheirsOnly) {
  probe(0, 2, 1, 3);
  probe(1, 2, 1, 4);
  probe(2, 2, 1, 5);
  EXPECT_EQ(heard(2, 1, 3), Who{0});
  EXPECT_EQ(heard(2, 1, 4), Who{1});
  stop(1);  // from the middle of the list
  EXPECT_EQ(heard(2, 1, 4), Who{});
  EXPECT_EQ(heard(2, 1, 3), Who{0});
  EXPECT_EQ(heard(2, 1, 5), Who{2});
  stop(0);
  stop(2);
  EXPECT_EQ(heard(2, 1, 5), Who{});
  probe(1, 2, 1, 5);
  EXPECT_EQ(heard(2, 1, 5), Who{1});
}

}  // namespace
}  // namespace meantime::match
