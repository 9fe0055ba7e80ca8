#include "core/object/integer_handles.h"

#include <gtest/gtest.h>
#include <mpi.h>

namespace meantime::core {
namespace {

TEST(IntegerHandles, PredefinedHandlesAreTheirOwnNumber) {
  IntegerHandles handles;
  EXPECT_EQ(handles.number_of(MPI_COMM_WORLD), 0x101);
  EXPECT_EQ(handles.handle_of(0x209), static_cast<void*>(MPI_INT));
}

TEST(IntegerHandles, OthersGetANumberForGood) {
  IntegerHandles handles;
  int objects[2] = {};
  const int first = handles.number_of(&objects[0]);
  const int second = handles.number_of(&objects[1]);
  EXPECT_NE(first, second);
  EXPECT_GE(first, 4096);
  EXPECT_EQ(handles.number_of(&objects[0]), first);
  EXPECT_EQ(handles.handle_of(first), &objects[0]);
  EXPECT_EQ(handles.handle_of(second), &objects[1]);
  EXPECT_EQ(handles.handle_of(second + 1), nullptr);
}

}  // namespace
}  // namespace meantime::core
