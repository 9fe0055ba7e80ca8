#include "core/comm/group.h"

#include <gtest/gtest.h>

#include "core/object/tables.h"

namespace meantime::core {
namespace {

/// Drops its group at the end.
struct Held {
  explicit Held(Group* group) : group(group) {}
  Held(const Held&) = delete;
  ~Held() { drop(group); }
  Group& operator*() const { return *group; }
  Group* operator->() const { return group; }
  std::vector<int> members() const {
    std::vector<int> world;
    for (int member = 0; member < group->size; ++member) {
      world.push_back(group->world_rank(member));
    }
    return world;
  }
  Group* group;
};
using Members = std::vector<int>;

TEST(Group, BeginningsOfTheWorldAreIdentity) {
  const Held made(make_group({0, 1, 2, 3}));
  EXPECT_TRUE(made->is_identity());
  EXPECT_EQ(made->size, 4);
  EXPECT_EQ(made->rank, self().world_rank);
  EXPECT_EQ(made->member(3), 3);
  EXPECT_EQ(made->member(4), -1);
}

TEST(Group, WithoutMembersIsTheEmptyGroup) {
  const Held made(make_group({}));
  EXPECT_EQ(made.group, &tables().empty_group);
  EXPECT_EQ(made->handle(), MPI_GROUP_EMPTY);
  EXPECT_EQ(resolve(MPI_GROUP_EMPTY), made.group);
}

TEST(Group, UnionKeepsTheOrderOfTheFirst) {
  const Held first(make_group({4, 2, 0}));
  const Held second(make_group({1, 2, 3, 4}));
  EXPECT_EQ(Held(unite(*first, *second)).members(), (Members{4, 2, 0, 1, 3}));
  EXPECT_EQ(Held(unite(*second, *first)).members(), (Members{1, 2, 3, 4, 0}));
  const Held three(make_identity_group(3));
  const Held five(make_identity_group(5));
  EXPECT_EQ(Held(unite(*three, *five)).members(), (Members{0, 1, 2, 3, 4}));
  EXPECT_EQ(Held(unite(*five, *three)).group, five.group);
}

TEST(Group, IntersectionAndDifferenceKeepTheOrderOfTheFirst) {
  const Held first(make_group({4, 2, 0, 7}));
  const Held second(make_identity_group(5));
  EXPECT_EQ(Held(intersect(*first, *second)).members(), (Members{4, 2, 0}));
  EXPECT_EQ(Held(intersect(*second, *first)).members(), (Members{0, 2, 4}));
  EXPECT_EQ(Held(subtract(*first, *second)).members(), (Members{7}));
  EXPECT_EQ(Held(subtract(*second, *first)).members(), (Members{1, 3}));
  EXPECT_EQ(Held(subtract(*first, *first)).group, &tables().empty_group);
}

TEST(Group, Compares) {
  const Held one(make_group({1, 2, 3}));
  const Held same(make_group({1, 2, 3}));
  const Held turned(make_group({3, 2, 1}));
  const Held other(make_group({1, 2, 4}));
  EXPECT_EQ(compare(*one, *same), MPI_IDENT);
  EXPECT_EQ(compare(*one, *turned), MPI_SIMILAR);
  EXPECT_EQ(compare(*one, *other), MPI_UNEQUAL);
  EXPECT_EQ(compare(tables().empty_group, tables().empty_group), MPI_IDENT);
}

TEST(Group, IncludesInTheOrderNamed) {
  const Held group(make_identity_group(6));
  Group* made = nullptr;
  const int wanted[] = {5, 1, 3};
  ASSERT_EQ(include(*group, 3, wanted, &made), MPI_SUCCESS);
  EXPECT_EQ(Held(made).members(), (Members{5, 1, 3}));
  ASSERT_EQ(exclude(*group, 3, wanted, &made), MPI_SUCCESS);
  EXPECT_EQ(Held(made).members(), (Members{0, 2, 4}));
  ASSERT_EQ(include(*group, 0, nullptr, &made), MPI_SUCCESS);
  EXPECT_EQ(Held(made)->handle(), MPI_GROUP_EMPTY);
  const int twice[] = {1, 1};
  EXPECT_EQ(include(*group, 2, twice, &made), MPI_ERR_RANK);
  const int strange[] = {6};
  EXPECT_EQ(exclude(*group, 1, strange, &made), MPI_ERR_RANK);
}

TEST(Group, RangesMayRunBackwardsAndStopShort) {
  const Held group(make_identity_group(10));
  Group* made = nullptr;
  const int ranges[][3] = {{6, 7, 1}, {1, 6, 2}, {9, 4, -5}};  // the example of MPI 5.0 7.3.2
  ASSERT_EQ(include_ranges(*group, 3, ranges, &made), MPI_SUCCESS);
  EXPECT_EQ(Held(made).members(), (Members{6, 7, 1, 3, 5, 9, 4}));
  ASSERT_EQ(exclude_ranges(*group, 3, ranges, &made), MPI_SUCCESS);
  EXPECT_EQ(Held(made).members(), (Members{0, 2, 8}));
  const int endless[][3] = {{0, 3, 0}};
  EXPECT_EQ(include_ranges(*group, 1, endless, &made), MPI_ERR_ARG);
  const int outside[][3] = {{8, 12, 2}};
  EXPECT_EQ(include_ranges(*group, 1, outside, &made), MPI_ERR_ARG);
}

TEST(Group, Translates) {
  const Held from(make_group({8, 6, 4, 2, 0, 1}));
  const Held to(make_group({2, 4, 6, 9, 1}));
  const int members[] = {0, 1, MPI_PROC_NULL, 2, 3, 4, 5};
  int places[7];
  ASSERT_EQ(translate(*from, 7, members, *to, places), MPI_SUCCESS);
  const int expected[] = {MPI_UNDEFINED, 2, MPI_PROC_NULL, 1, 0, MPI_UNDEFINED, 4};
  EXPECT_TRUE(std::equal(std::begin(places), std::end(places), std::begin(expected)));
  ASSERT_EQ(translate(*from, 2, members, *to, places), MPI_SUCCESS);
  EXPECT_EQ(places[1], 2);
  const int strange = 6;
  EXPECT_EQ(translate(*from, 1, &strange, *to, places), MPI_ERR_RANK);
}

}  // namespace
}  // namespace meantime::core
