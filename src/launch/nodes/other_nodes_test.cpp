#include "launch/nodes/other_nodes.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "base/clock.h"
#include "launch/nodes/meeting.h"

namespace {

using namespace meantime::launch;

constexpr double seconds = 10;

OtherNodes::News next(OtherNodes& nodes) {
  OtherNodes::News news;
  while (!nodes.hear(news)) {
    pollfd ready{nodes.events(), POLLIN, 0};
    if (poll(&ready, 1, 10'000) <= 0) {
      ADD_FAILURE() << "nothing is heard";
      break;
    }
  }
  return news;
}

class Nodes : public ::testing::Test {
 protected:
  Nodes() {
    int socket = -1;
    meeting_ = open_meeting(socket);
    hub_.expect(meeting_, socket, 2);
  }

  std::string meeting_;
  OtherNodes hub_;
};

TEST_F(Nodes, NobodyComesWhoIsNotExpected) {
  OtherNodes member;
  ASSERT_TRUE(member.join(meeting_, 0));
  member.tell(LinkKind::signal, 8);
  EXPECT_EQ(next(hub_).message.number, 8);
  hub_.expect_nobody();
  OtherNodes late;
  EXPECT_FALSE(late.join(meeting_, 1));
  EXPECT_TRUE(hub_.is_hub());
  member.tell(LinkKind::signal, 9);
  EXPECT_EQ(next(hub_).message.number, 9);
}

TEST_F(Nodes, TextsComeWholeAndInOrder) {
  const std::string large(std::size_t{1} << 22, 'x');
  OtherNodes member;
  ASSERT_TRUE(member.join(meeting_, 1));
  std::thread sender([&] {
    member.tell(LinkKind::report, 7, large);
    member.tell(LinkKind::signal, 8);
    member.leave(9);
  });
  OtherNodes::News news = next(hub_);
  EXPECT_EQ(news.member, 1);
  EXPECT_EQ(news.message.number, 7);
  EXPECT_EQ(news.message.text, large);
  EXPECT_EQ(next(hub_).message.number, 8);
  news = next(hub_);
  EXPECT_EQ(news.message.kind, LinkKind::over);
  EXPECT_EQ(news.message.number, 9);
  hub_.let_go(1);
  sender.join();
}

TEST_F(Nodes, TheHubTellsAllButOne) {
  OtherNodes zero;
  OtherNodes one;
  ASSERT_TRUE(zero.join(meeting_, 0));
  ASSERT_TRUE(one.join(meeting_, 1));
  zero.tell(LinkKind::end, 3);
  one.tell(LinkKind::end, 4);
  next(hub_);
  next(hub_);
  hub_.tell(LinkKind::signal, 5, "", 0);
  hub_.tell(LinkKind::signal, 6);
  EXPECT_EQ(next(one).message.number, 5);
  EXPECT_EQ(next(zero).message.number, 6);
}

TEST_F(Nodes, WhoGoesWithoutAWordIsLost) {
  {
    OtherNodes member;
    ASSERT_TRUE(member.join(meeting_, 0));
    member.tell(LinkKind::silent, 1, "rank");
  }
  EXPECT_EQ(next(hub_).message.kind, LinkKind::silent);
  const OtherNodes::News news = next(hub_);
  EXPECT_EQ(news.message.kind, LinkKind::lost);
  EXPECT_EQ(news.member, 0);
  EXPECT_FALSE(hub_.has_joined(0));
}

/// A node that is asleep: its kernel answers, and that is all.
TEST_F(Nodes, WhoFallsSilentIsLost) {
  hub_.set_up("hub", 1);
  OtherNodes member;
  ASSERT_TRUE(member.join(meeting_, 0));
  const OtherNodes::News news = next(hub_);
  EXPECT_EQ(news.message.kind, LinkKind::lost);
  EXPECT_EQ(news.message.number, fell_silent);
  EXPECT_EQ(news.member, 0);
}

TEST_F(Nodes, AHubThatFallsSilentIsLost) {
  hub_.set_up("hub", 60);
  OtherNodes member;
  member.set_up("member", 1);
  ASSERT_TRUE(member.join(meeting_, 0));
  OtherNodes::News news;
  while (!hub_.has_joined(0)) {
    EXPECT_FALSE(hub_.hear(news));
  }
  news = next(member);
  EXPECT_EQ(news.message.kind, LinkKind::lost);
  EXPECT_EQ(news.message.number, fell_silent);
  EXPECT_EQ(member.name_of(news.member), "hub");
}

TEST_F(Nodes, WhoBeatsIsNotLost) {
  hub_.set_up("hub", 1);
  OtherNodes member;
  member.set_up("member", 1);
  ASSERT_TRUE(member.join(meeting_, 0));
  OtherNodes::News news;
  for (const double end = meantime::now_seconds() + 2.5; meantime::now_seconds() < end;) {
    ASSERT_FALSE(hub_.hear(news));
    ASSERT_FALSE(member.hear(news));
    pollfd ready[] = {{hub_.events(), POLLIN, 0}, {member.events(), POLLIN, 0}};
    poll(ready, 2, 100);
  }
  EXPECT_EQ(hub_.name_of(0), "member");
}

TEST_F(Nodes, StrangersAreNotHeard) {
  OtherNodes stranger;
  std::string other_secret = meeting_;
  other_secret[0] = other_secret[0] == '0' ? '1' : '0';
  ASSERT_TRUE(stranger.join(other_secret, 0));
  OtherNodes third;
  ASSERT_TRUE(third.join(meeting_, 2));  // of two
  const int flood = connection_to_meeting(meeting_, seconds);
  const std::string bytes(100'000, '\1');
  send(flood, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  OtherNodes member;
  ASSERT_TRUE(member.join(meeting_, 0));
  member.tell(LinkKind::signal, 1);
  EXPECT_EQ(next(hub_).message.number, 1);
  EXPECT_EQ(next(stranger).message.kind, LinkKind::lost);
  EXPECT_EQ(next(third).message.kind, LinkKind::lost);
  close(flood);
}

TEST_F(Nodes, NobodyListens) {
  OtherNodes member;
  EXPECT_FALSE(member.join("", 0));
  EXPECT_FALSE(member.join("0 1 127.0.0.1", 0));
}

}  // namespace
