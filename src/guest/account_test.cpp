#include "guest/account.h"

#include <gtest/gtest.h>

namespace meantime::guest {
namespace {

TEST(Listener, HearsAnAccountInAnyPieces) {
  Account told;
  told.cpu_seconds = 1.5;
  told.keeper_cpu_seconds = 0.25;
  told.seconds = 3;
  told.guests = {{2, 256, 1.25, 77}, {1, std::nullopt, 0.25, 0}};
  const std::string text = remark_text("guest 0 ended; units 3") + account_text(told);
  for (std::size_t piece = 1; piece < 40; ++piece) {
    Listener listener;
    std::vector<std::string> remarks;
    for (std::size_t place = 0; place < text.size(); place += piece) {
      listener.hear(text.substr(place, piece),
                    [&](const std::string& line) { remarks.push_back(line); });
    }
    const Account& heard = listener.account();
    EXPECT_EQ(remarks, std::vector<std::string>{"guest 0 ended; units 3"});
    EXPECT_EQ(heard.cpu_seconds, 1.5);
    EXPECT_EQ(heard.keeper_cpu_seconds, 0.25);
    ASSERT_EQ(heard.guests.size(), 2u);
    EXPECT_EQ(heard.guests[0].starts, 2);
    EXPECT_EQ(heard.guests[0].wait_status, 256);
    EXPECT_EQ(heard.guests[0].units, 77u);
    EXPECT_FALSE(heard.guests[1].wait_status);
  }
}

TEST(Listener, HasNoAccountOfAKeeperThatWasKilled) {
  Listener listener;
  listener.hear("all 1 2", [](const std::string&) {});
  EXPECT_TRUE(listener.account().guests.empty());
}

}  // namespace
}  // namespace meantime::guest
