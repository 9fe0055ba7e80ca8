#include "core/object/attribute.h"

#include <gtest/gtest.h>

#include <string>

#include "core/object/tables.h"

namespace meantime::core {
namespace {

using Holder = Keyval::Holder;

/// What the functions below were called for, in order.
std::string calls;
int result_of_copy = MPI_SUCCESS;
int result_of_delete = MPI_SUCCESS;

int count_up(void*, int, void* extra_state, void* value, void* copied, int* flag) {
  calls += "c" + std::to_string(reinterpret_cast<long>(extra_state));
  *static_cast<void**>(copied) = static_cast<char*>(value) + 1;
  *flag = 1;
  return result_of_copy;
}
int note_delete(void*, int, void* value, void* extra_state) {
  calls += "d" + std::to_string(reinterpret_cast<long>(extra_state)) + ":" +
           std::to_string(reinterpret_cast<long>(value)) + " ";
  return result_of_delete;
}

void* word(long value) {
  return reinterpret_cast<void*>(value);
}

class Attribute : public testing::Test {
 protected:
  Attribute() {
    calls.clear();
    result_of_copy = result_of_delete = MPI_SUCCESS;
  }
  int make_key(long number, Keyval::Copy* copy = count_up, Keyval::Delete* remove = note_delete) {
    int key = 0;
    EXPECT_EQ(create_keyval(Holder::datatype, copy, remove, word(number), &key), MPI_SUCCESS);
    return key;
  }
  int set(int key, long value) {
    return set_attribute(table, Holder::datatype, holder, key, word(value));
  }
  long get(const std::unique_ptr<AttributeTable>& from, int key) {
    void* value = nullptr;
    int flag = 0;
    EXPECT_EQ(get_attribute(from, Holder::datatype, key, &value, &flag), MPI_SUCCESS);
    return flag != 0 ? reinterpret_cast<long>(value) : -1;
  }

  std::unique_ptr<AttributeTable> table;
  void* holder = word(4711);
};

TEST_F(Attribute, SetGetDelete) {
  const int key = make_key(1);
  EXPECT_EQ(get(table, key), -1);
  EXPECT_EQ(set(key, 10), MPI_SUCCESS);
  EXPECT_EQ(get(table, key), 10);
  EXPECT_EQ(set(key, 20), MPI_SUCCESS);
  EXPECT_EQ(calls, "d1:10 ");  // the old value is deleted
  EXPECT_EQ(delete_attribute(table, Holder::datatype, holder, key), MPI_SUCCESS);
  EXPECT_EQ(calls, "d1:10 d1:20 ");
  EXPECT_EQ(get(table, key), -1);
}

TEST_F(Attribute, CopiesInOrderDeletesLastFirst) {
  const int first = make_key(1);
  const int second = make_key(2);
  const int uncopied = make_key(3, nullptr, nullptr);  // MPI_TYPE_NULL_COPY_FN
  const int same = make_key(4, reinterpret_cast<Keyval::Copy*>(MPI_TYPE_DUP_FN), nullptr);
  set(first, 10);
  set(second, 20);
  set(uncopied, 30);
  set(same, 40);
  std::unique_ptr<AttributeTable> copy;
  EXPECT_EQ(copy_attributes(table, holder, copy), MPI_SUCCESS);
  EXPECT_EQ(calls, "c1c2");
  EXPECT_EQ(get(copy, first), 11);
  EXPECT_EQ(get(copy, uncopied), -1);
  EXPECT_EQ(get(copy, same), 40);
  calls.clear();
  EXPECT_EQ(delete_attributes(copy, holder), MPI_SUCCESS);
  EXPECT_EQ(calls, "d2:21 d1:11 ");
}

TEST_F(Attribute, AFailureOfTheUsersIsHandedOn) {
  const int key = make_key(1);
  set(key, 10);
  std::unique_ptr<AttributeTable> copy;
  result_of_copy = 77;
  EXPECT_EQ(copy_attributes(table, holder, copy), 77);
  EXPECT_EQ(copy, nullptr);
  result_of_delete = 78;
  EXPECT_EQ(set(key, 20), 78);
  EXPECT_EQ(delete_attribute(table, Holder::datatype, holder, key), 78);
  EXPECT_EQ(delete_attributes(table, holder), 78);
  EXPECT_EQ(get(table, key), 10);  // nothing of it happened
}

/// Set in the test: the attributes whose deletion deletes them once more.
std::unique_ptr<AttributeTable>* deleted_twice = nullptr;
int result_of_second = MPI_SUCCESS;
int delete_again(void*, int, void*, void*) {
  result_of_second = delete_attributes(*deleted_twice, word(4711));
  return MPI_SUCCESS;
}

TEST_F(Attribute, ADeletionDoesNotBeginAnother) {
  deleted_twice = &table;
  set(make_key(1, nullptr, delete_again), 10);
  EXPECT_EQ(delete_attributes(table, holder), MPI_SUCCESS);
  EXPECT_EQ(result_of_second, MPI_ERR_OTHER);
  EXPECT_TRUE(table->entries.empty());
}

TEST_F(Attribute, AFreedKeyLivesAsLongAsItsAttributes) {
  int key = make_key(1);
  const int old = key;
  set(key, 10);
  EXPECT_EQ(free_keyval(Holder::datatype, &key), MPI_SUCCESS);
  EXPECT_EQ(key, MPI_KEYVAL_INVALID);
  EXPECT_EQ(get(table, old), 10);
  EXPECT_EQ(delete_attributes(table, holder), MPI_SUCCESS);
  EXPECT_EQ(calls, "d1:10 ");
  EXPECT_EQ(set(old, 20), MPI_ERR_KEYVAL);
  EXPECT_EQ(tables().keyvals.count(old), 0u);
}

TEST_F(Attribute, KeysBelongToOneKindOfObject) {
  int key = make_key(1);
  std::unique_ptr<AttributeTable> other;
  EXPECT_EQ(set_attribute(other, Holder::communicator, holder, key, word(1)), MPI_ERR_KEYVAL);
  EXPECT_EQ(free_keyval(Holder::window, &key), MPI_ERR_KEYVAL);
  EXPECT_EQ(set(MPI_KEYVAL_INVALID, 1), MPI_ERR_KEYVAL);
  EXPECT_EQ(set(MPI_TAG_UB, 1), MPI_ERR_KEYVAL);
}

TEST_F(Attribute, PredefinedOnesPointToIntegers) {
  void* value = nullptr;
  int flag = 0;
  EXPECT_EQ(get_attribute(table, Holder::communicator, MPI_TAG_UB, &value, &flag), MPI_SUCCESS);
  ASSERT_EQ(flag, 1);
  EXPECT_GE(*static_cast<int*>(value), 32767);
}

}  // namespace
}  // namespace meantime::core
