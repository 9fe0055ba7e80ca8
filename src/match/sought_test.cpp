#include "match/sought.h"

#include <gtest/gtest.h>

namespace meantime::match {
namespace {

class Sought : public testing::Test {
 protected:
  bool heard(std::uint32_t context, std::int32_t source, std::int32_t tag) {
    message.context = context;
    message.source = source;
    message.tag = tag;
    return is_sought(box, message);
  }

  node::Mailbox box{};
  Message message{};
};

TEST_F(Sought, NobodyLooks) {
  EXPECT_FALSE(heard(2, 1, 3));
  seek(box, sought(2, 1, 3));
  EXPECT_FALSE(heard(2, 1, 3));
}

TEST_F(Sought, TheMessageThatIsMeant) {
  seek(box, sought(2, 1, 3));
  box.wants_any = 1;
  EXPECT_TRUE(heard(2, 1, 3));
  EXPECT_FALSE(heard(3, 1, 3));
  EXPECT_FALSE(heard(2, 2, 3));
  EXPECT_FALSE(heard(2, 1, 4));
  EXPECT_FALSE(heard(2, 3, 1));
}

TEST_F(Sought, Wildcards) {
  seek(box, sought(2, MPI_ANY_SOURCE, 3));
  box.wants_any = 1;
  EXPECT_TRUE(heard(2, 7, 3));
  EXPECT_FALSE(heard(2, 7, 4));
  box.wants_any = 0;
  seek(box, sought(2, 7, MPI_ANY_TAG));
  box.wants_any = 1;
  EXPECT_TRUE(heard(2, 7, 3));
  EXPECT_FALSE(heard(2, 8, 3));
  box.wants_any = 0;
  seek(box, sought(2, MPI_ANY_SOURCE, MPI_ANY_TAG));
  box.wants_any = 1;
  EXPECT_TRUE(heard(2, 9, 9));
  EXPECT_FALSE(heard(4, 9, 9));
}

TEST_F(Sought, ThreadsThatLookForDifferentThingsHearOfAll) {
  seek(box, sought(2, 1, 3));
  box.wants_any = 1;
  seek(box, sought(2, 1, 4));
  box.wants_any = 2;
  EXPECT_TRUE(heard(2, 1, 3));
  EXPECT_TRUE(heard(2, 1, 4));
  box.wants_any = 1;  // one has gone, and nobody knows which
  EXPECT_TRUE(heard(2, 1, 3));
  box.wants_any = 0;
  seek(box, sought(2, 1, 4));
  box.wants_any = 1;
  EXPECT_FALSE(heard(2, 1, 3));
}

}  // namespace
}  // namespace meantime::match
