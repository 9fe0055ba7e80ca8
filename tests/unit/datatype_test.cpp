// Datatypes against the naive reference of typemap.h: bounds, packing from and to any place of the
// stream, runs, elements; then single cases that the random ones may miss.
#include "core/datatype/datatype.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "core/datatype/external32.h"
#include "core/datatype/layout.h"
#include "typemap.h"

namespace meantime::test {
namespace {

/// Memory around a typed buffer, and the reference's packed stream of it.
struct Arena {
  Arena(const TypeMap& map, MPI_Count count, Generator& random) {
    MPI_Count low = 0;
    MPI_Count high = 1;
    for (MPI_Count i : {MPI_Count{0}, count - 1}) {
      low = std::min(low, i * map.extent() + map.true_lb());
      high = std::max(high, i * map.extent() + map.true_ub());
    }
    memory.resize(static_cast<std::size_t>(high - low));
    for (char& byte : memory) {
      byte = static_cast<char>(random.number(1, 127));
    }
    origin = -low;
    for (MPI_Count i = 0; i < count; ++i) {
      for (const TypeMap::Entry& entry : map.entries) {
        for (MPI_Count b = 0; b < entry.size; ++b) {
          order.push_back(
              static_cast<std::size_t>(origin + i * map.extent() + entry.displacement + b));
        }
      }
    }
  }

  char* buffer() { return memory.data() + origin; }
  std::vector<char> stream() const {
    std::vector<char> result;
    for (std::size_t place : order) {
      result.push_back(memory[place]);
    }
    return result;
  }

  std::vector<char> memory;
  MPI_Count origin = 0;
  std::vector<std::size_t> order;  ///< the place in memory of each byte of the stream
};

bool overlaps(std::vector<std::size_t> places) {
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) != places.end();
}

class RandomTypes : public testing::TestWithParam<unsigned> {};

TEST_P(RandomTypes, AgreeWithTheTypeMap) {
  Generator random(GetParam());
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE(round);
    Pair pair = random.tree(static_cast<int>(random.number(1, 4)));
    ASSERT_NE(pair.type, nullptr);
    Datatype& type = *pair.type;
    ASSERT_EQ(commit(type), MPI_SUCCESS);
    const TypeMap& map = pair.map;
    ASSERT_EQ(type.size, map.size());
    ASSERT_EQ(type.lb, map.lb());
    ASSERT_EQ(type.extent, map.extent());
    ASSERT_EQ(type.true_lb, map.true_lb());
    ASSERT_EQ(type.true_extent, map.true_ub() - map.true_lb());
    ASSERT_EQ(type.element_count, static_cast<MPI_Count>(map.entries.size()));

    const MPI_Count count = random.number(0, 4);
    Arena arena(map, count, random);
    const std::vector<char> expected = arena.stream();
    const std::size_t total = expected.size();

    std::vector<char> packed(total + 8, 0);
    ASSERT_EQ(pack(arena.buffer(), count, type, 0, packed.data(), total + 8), total);
    packed.resize(total);
    ASSERT_EQ(packed, expected);

    for (int piece = 0; piece < 8 && total > 0; ++piece) {
      const auto offset = static_cast<std::size_t>(random.number(0, static_cast<MPI_Count>(total)));
      const auto bytes = static_cast<std::size_t>(random.number(0, static_cast<MPI_Count>(total)));
      const std::size_t moved = std::min(bytes, total - offset);
      std::vector<char> part(bytes + 1, 0);
      ASSERT_EQ(pack(arena.buffer(), count, type, offset, part.data(), bytes), moved);
      ASSERT_EQ(part[bytes], 0);
      ASSERT_TRUE(std::equal(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(moved),
                             expected.begin() + static_cast<std::ptrdiff_t>(offset)));
    }

    // Unpack another stream in random pieces into a copy of the memory.
    std::vector<char> incoming(total);
    for (char& byte : incoming) {
      byte = static_cast<char>(random.number(-128, -1));
    }
    if (!overlaps(arena.order)) {
      std::vector<char> wanted = arena.memory;
      for (std::size_t i = 0; i < total; ++i) {
        wanted[arena.order[i]] = incoming[i];
      }
      std::vector<char> memory = arena.memory;
      for (std::size_t offset = 0; offset < total;) {
        const auto bytes = static_cast<std::size_t>(random.number(1, 60));
        offset += unpack(memory.data() + arena.origin, count, type, offset,
                         incoming.data() + offset, std::min(bytes, total - offset));
      }
      ASSERT_EQ(memory, wanted);
      memory = arena.memory;
      ASSERT_EQ(unpack(memory.data() + arena.origin, count, type, 0, incoming.data(), total),
                total);
      ASSERT_EQ(memory, wanted);
    }

    // Elements: every prefix of the stream.
    std::vector<MPI_Count> ends = {0};
    for (const TypeMap::Entry& entry : map.entries) {
      ends.push_back(ends.back() + entry.size);
    }
    for (MPI_Count bytes = 0; bytes <= type.size; ++bytes) {
      const auto end = std::lower_bound(ends.begin(), ends.end(), bytes);
      const MPI_Count elements = *end == bytes ? end - ends.begin() : MPI_UNDEFINED;
      ASSERT_EQ(basic_elements(type, bytes), elements) << bytes;
      if (elements != MPI_UNDEFINED) {
        ASSERT_EQ(bytes_of_elements(type, elements), bytes);
        ASSERT_EQ(bytes_of_elements(type, 3 * type.element_count + elements),
                  3 * type.size + bytes);
      }
    }
  }
}

TEST_P(RandomTypes, CopyBetweenTypes) {
  Generator random(GetParam() + 1000);
  for (int round = 0; round < 60; ++round) {
    Pair from = random.tree(3);
    Pair to = random.tree(3);
    commit(*from.type);
    commit(*to.type);
    const MPI_Count from_count = random.number(0, 5);
    const MPI_Count to_count = random.number(0, 5);
    Arena source(from.map, from_count, random);
    Arena target(to.map, to_count, random);
    if (overlaps(target.order)) {
      continue;
    }
    const std::vector<char> stream = source.stream();
    std::vector<char> wanted = target.memory;
    for (std::size_t i = 0; i < std::min(stream.size(), target.order.size()); ++i) {
      wanted[target.order[i]] = stream[i];
    }
    const int error =
        copy_elements(source.buffer(), from_count, *from.type, target.buffer(), to_count, *to.type);
    EXPECT_EQ(error, stream.size() > target.order.size() ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    EXPECT_EQ(target.memory, wanted);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTypes, testing::Range(1U, 21U));

TypePointer made(int error, Datatype*& type) {
  EXPECT_EQ(error, MPI_SUCCESS);
  EXPECT_EQ(commit(*type), MPI_SUCCESS);
  return TypePointer(type);
}

TEST(Layout, MergesWhatTouches) {
  Datatype* type = nullptr;
  Datatype& real = *resolve(MPI_DOUBLE);
  TypePointer rows = made(make_vector(5, 3, 3, real, Form::plain, &type), type);
  EXPECT_TRUE(rows->contiguous);
  EXPECT_EQ(rows->layout->root().shape, LayoutNode::Shape::run);

  const MPI_Count ones[] = {1, 1, 1};
  const MPI_Count in_a_row[] = {0, 8, 16};
  Datatype* const mixed[] = {resolve(MPI_DOUBLE), resolve(MPI_LONG), resolve(MPI_DOUBLE)};
  TypePointer record = made(make_struct(3, ones, in_a_row, mixed, Form::plain, &type), type);
  EXPECT_TRUE(record->contiguous);

  const MPI_Count every_third[] = {0, 24, 48};
  TypePointer list = made(make_hindexed(3, ones, every_third, real, Form::plain, &type), type);
  EXPECT_EQ(list->layout->root().shape, LayoutNode::Shape::loop);
  EXPECT_EQ(list->layout->root().count, 3);
}

TEST(Layout, FaceOfAGridIsTwoLoops) {
  Datatype* type = nullptr;
  const MPI_Count sizes[] = {10, 10, 10};
  const MPI_Count face[] = {10, 10, 1};
  const MPI_Count start[] = {0, 0, 9};
  // All elements of this face are equally spaced: one loop.
  TypePointer one = made(
      make_subarray(3, sizes, face, start, MPI_ORDER_C, *resolve(MPI_DOUBLE), Form::plain, &type),
      type);
  EXPECT_EQ(one->layout->root().shape, LayoutNode::Shape::loop);
  EXPECT_EQ(one->layout->root().count, 100);
  const MPI_Count part[] = {4, 5, 1};
  TypePointer two = made(
      make_subarray(3, sizes, part, start, MPI_ORDER_C, *resolve(MPI_DOUBLE), Form::plain, &type),
      type);
  EXPECT_EQ(two->layout->root().count, 4);
  EXPECT_EQ(two->layout->node(two->layout->root().child).count, 5);
}

/// Every length of run has its own moves (move.h), some of which overlap: none may touch a byte
/// more. As equally spaced runs, as a list of them, and as records of two.
TEST(Runs, OfEveryLength) {
  Datatype& byte = *resolve(MPI_BYTE);
  for (MPI_Count length = 1; length <= 140; ++length) {
    SCOPED_TRACE(length);
    const MPI_Count stride = length + 3;
    const MPI_Count places[] = {0, 2 * stride, 3 * stride};
    const MPI_Count two_lengths[] = {length, 1};
    const MPI_Count two_places[] = {0, length + 1};
    Datatype* type = nullptr;
    TypePointer spaced = made(make_vector(7, length, stride, byte, Form::plain, &type), type);
    TypePointer list = made(make_indexed_block(3, length, places, byte, Form::plain, &type), type);
    TypePointer fields =
        made(make_indexed(2, two_lengths, two_places, byte, Form::plain, &type), type);
    TypePointer record = made(make_resized(*fields, 0, stride, Form::plain, &type), type);
    for (const auto& [one, count] : {std::pair{&spaced, 1}, {&list, 1}, {&record, 9}}) {
      const auto bytes = static_cast<std::size_t>((*one)->size * count);
      std::vector<char> memory(static_cast<std::size_t>(10 * stride), '.');
      std::vector<char> packed(bytes + 8, '-');
      std::vector<char> sent(bytes);
      for (std::size_t i = 0; i < bytes; ++i) {
        sent[i] = static_cast<char>('A' + i % 26);
      }
      EXPECT_EQ(unpack(memory.data(), count, **one, 0, sent.data(), bytes), bytes);
      EXPECT_EQ(std::count(memory.begin(), memory.end(), '.'), 10 * stride - (*one)->size * count);
      EXPECT_EQ(pack(memory.data(), count, **one, 0, packed.data(), bytes), bytes);
      EXPECT_TRUE(std::equal(sent.begin(), sent.end(), packed.begin()));
      EXPECT_EQ(std::count(packed.end() - 8, packed.end(), '-'), 8);
    }
  }
}

TEST(Huge, CountsBeyondInt) {
  Datatype* type = nullptr;
  const MPI_Count many = MPI_Count{1} << 40;
  TypePointer line = made(make_contiguous(many, *resolve(MPI_DOUBLE), Form::large, &type), type);
  EXPECT_EQ(line->size, 8 * many);
  TypePointer comb = made(make_vector(many, 1, 2, *resolve(MPI_INT), Form::large, &type), type);
  EXPECT_EQ(comb->size, 4 * many);
  EXPECT_EQ(comb->extent, 8 * many - 4);
  EXPECT_EQ(basic_elements(*comb, 4 * (many - 7)), many - 7);
  // Elements far out, addressed without touching the others.
  std::vector<char> window(64, 'w');
  int value = 0x01020304;
  const MPI_Count far = many - 3;
  std::memcpy(window.data() + 8, &value, 4);
  int packed = 0;
  EXPECT_EQ(
      pack(window.data() + 8 - far * 8, 1, *comb, static_cast<std::size_t>(far) * 4, &packed, 4),
      4U);
  EXPECT_EQ(packed, value);
  EXPECT_EQ(make_contiguous(many, *line, Form::large, &type), MPI_ERR_VALUE_TOO_LARGE);
}

TEST(Darray, CoversTheArrayOnce) {
  Generator random(5);
  for (int round = 0; round < 200; ++round) {
    const int dimensions = static_cast<int>(random.number(1, 3));
    std::vector<MPI_Count> sizes;
    std::vector<int> kinds;
    std::vector<int> arguments;
    std::vector<int> grid;
    MPI_Count total = 1;
    int processes = 1;
    for (int i = 0; i < dimensions; ++i) {
      sizes.push_back(random.number(1, 9));
      grid.push_back(static_cast<int>(random.number(1, 3)));
      const int kinds_of[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
      kinds.push_back(kinds_of[random.number(0, 2)]);
      if (kinds.back() == MPI_DISTRIBUTE_NONE) {
        grid.back() = 1;
      }
      const int least = static_cast<int>((sizes.back() + grid.back() - 1) / grid.back());
      arguments.push_back(random.number(0, 1) == 0 ? MPI_DISTRIBUTE_DFLT_DARG
                          : kinds.back() == MPI_DISTRIBUTE_BLOCK
                              ? least + static_cast<int>(random.number(0, 2))
                              : static_cast<int>(random.number(1, 4)));
      total *= sizes.back();
      processes *= grid.back();
    }
    const int order = random.number(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    std::vector<int> array(static_cast<std::size_t>(total));
    std::iota(array.begin(), array.end(), 0);
    std::vector<int> owners(array.size(), 0);
    for (int rank = 0; rank < processes; ++rank) {
      Datatype* type = nullptr;
      TypePointer mine = made(
          make_darray(processes, rank, dimensions, sizes.data(), kinds.data(), arguments.data(),
                      grid.data(), order, *resolve(MPI_INT), Form::plain, &type),
          type);
      EXPECT_EQ(mine->lb, 0);
      EXPECT_EQ(mine->extent, total * 4);
      std::vector<int> part(static_cast<std::size_t>(mine->size / 4));
      pack(array.data(), 1, *mine, 0, part.data(), part.size() * 4);
      EXPECT_TRUE(std::is_sorted(part.begin(), part.end()));
      for (int element : part) {
        ++owners[static_cast<std::size_t>(element)];
        // Who owns it by the standard's definition?
        MPI_Count rest = element;
        int expected = 0;
        std::vector<int> place(static_cast<std::size_t>(dimensions));
        for (int step = 0; step < dimensions; ++step) {
          const int i = order == MPI_ORDER_C ? dimensions - 1 - step : step;
          const MPI_Count index = rest % sizes[i];
          rest /= sizes[i];
          MPI_Count block = (sizes[i] + grid[i] - 1) / grid[i];
          if (kinds[i] == MPI_DISTRIBUTE_CYCLIC) {
            block = arguments[i] == MPI_DISTRIBUTE_DFLT_DARG ? 1 : arguments[i];
          } else if (kinds[i] == MPI_DISTRIBUTE_BLOCK && arguments[i] != MPI_DISTRIBUTE_DFLT_DARG) {
            block = arguments[i];
          }
          place[i] = static_cast<int>(index / block % grid[i]);
        }
        for (int i = 0; i < dimensions; ++i) {
          expected = expected * grid[i] + place[i];
        }
        EXPECT_EQ(expected, rank);
      }
    }
    EXPECT_EQ(owners, std::vector<int>(array.size(), 1));
  }
}

TEST(External32, IsBigEndianAndReversible) {
  const std::uint32_t number = 0x01020304;
  unsigned char out[16];
  pack_external32(&number, 1, *resolve(MPI_UINT32_T), out);
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[3], 4);
  const long double one = 1.0L;
  pack_external32(&one, 1, *resolve(MPI_LONG_DOUBLE), out);
  EXPECT_EQ(out[0], 0x3f);
  EXPECT_EQ(out[1], 0xff);
  EXPECT_EQ(out[2], 0);
  EXPECT_EQ(external32_size(*resolve(MPI_DOUBLE_INT), 3), 36);
  EXPECT_EQ(external32_size(*resolve(MPI_WCHAR), 3), 6);

  Generator random(77);
  for (int round = 0; round < 200; ++round) {
    Pair pair = random.tree(3);
    commit(*pair.type);
    Arena arena(pair.map, 3, random);
    if (overlaps(arena.order)) {
      continue;
    }
    // Random bytes are no long doubles: start from what came in from outside.
    std::vector<char> outside(static_cast<std::size_t>(external32_size(*pair.type, 3)));
    for (char& byte : outside) {
      byte = static_cast<char>(random.number(0, 127));
    }
    unpack_external32(arena.buffer(), 3, *pair.type, outside.data());
    std::vector<char> first(outside.size());
    pack_external32(arena.buffer(), 3, *pair.type, first.data());
    unpack_external32(arena.buffer(), 3, *pair.type, first.data());
    std::vector<char> second(outside.size());
    pack_external32(arena.buffer(), 3, *pair.type, second.data());
    EXPECT_EQ(first, second);
    if (pair.map.size() == static_cast<MPI_Count>(outside.size()) / 3 &&
        std::none_of(pair.map.entries.begin(), pair.map.entries.end(),
                     [](const TypeMap::Entry& entry) { return entry.size == 16; })) {
      EXPECT_EQ(first, outside);
    }
  }
}

TEST(Unnamed, SelectedByFortran) {
  Datatype* first = nullptr;
  Datatype* second = nullptr;
  ASSERT_EQ(find_f90_real(10, MPI_UNDEFINED, &first), MPI_SUCCESS);
  ASSERT_EQ(find_f90_real(10, MPI_UNDEFINED, &second), MPI_SUCCESS);
  EXPECT_EQ(first, second);
  EXPECT_EQ(first->size, 8);
  EXPECT_EQ(envelope_of(*first).combiner, MPI_COMBINER_F90_REAL);
  EXPECT_EQ(envelope_of(*first).integers, 2);
  ASSERT_EQ(find_f90_integer(30, &first), MPI_SUCCESS);
  EXPECT_EQ(first->size, 16);
  EXPECT_EQ(find_f90_integer(39, &first), MPI_ERR_OTHER);
  ASSERT_EQ(find_f90_complex(20, 10, &first), MPI_SUCCESS);
  EXPECT_EQ(first->size, 32);
  ASSERT_EQ(find_value_index(*resolve(MPI_FLOAT), *resolve(MPI_INT), &first), MPI_SUCCESS);
  EXPECT_EQ(first->handle(), MPI_FLOAT_INT);
  ASSERT_EQ(find_value_index(*resolve(MPI_REAL), *resolve(MPI_REAL), &first), MPI_SUCCESS);
  EXPECT_EQ(first->handle(), MPI_2REAL);
  ASSERT_EQ(find_value_index(*resolve(MPI_SHORT), *resolve(MPI_LONG), &first), MPI_SUCCESS);
  EXPECT_EQ(first, nullptr);
}

TEST(References, ChildrenLiveAsLongAsTheirParents) {
  Datatype* inner = nullptr;
  Datatype* outer = nullptr;
  ASSERT_EQ(make_contiguous(3, *resolve(MPI_INT), Form::plain, &inner), MPI_SUCCESS);
  ASSERT_EQ(make_vector(2, 1, 2, *inner, Form::plain, &outer), MPI_SUCCESS);
  drop(inner);  // the user's reference
  EXPECT_EQ(inner->kind, Kind::datatype);
  MPI_Datatype child = MPI_DATATYPE_NULL;
  int integers[3];
  contents_of(*outer, integers, nullptr, nullptr, &child);
  EXPECT_EQ(integers[2], 2);
  EXPECT_EQ(child, inner->handle());
  drop(resolve(child));
  drop(outer);
}

}  // namespace
}  // namespace meantime::test
