// Derived types in messages: contiguous, vector, hvector, indexed, hindexed, indexed_block,
// struct, resized, nested; different types with one signature on both sides; MPI_BOTTOM with
// absolute addresses; Get_count and Get_elements; sizes through all protocols.
#include "check.h"

#include <cstddef>
#include <functional>

using namespace check;

struct Layout {
  const char* name;
  MPI_Datatype type;                // of int elements
  std::vector<MPI_Aint> positions;  // byte offset of each int of one item, in type map order
};

static std::vector<Layout> layouts(int n) {
  std::vector<Layout> result;
  auto add = [&](const char* name, MPI_Datatype type, std::vector<MPI_Aint> positions) {
    MUST(MPI_Type_commit(&type));
    int bytes = 0;
    MUST(MPI_Type_size(type, &bytes));
    CHECK(bytes == static_cast<int>(positions.size() * sizeof(int)), "%s: size %d", name, bytes);
    result.push_back({name, type, std::move(positions)});
  };
  MPI_Datatype type;
  std::vector<MPI_Aint> at;
  MUST(MPI_Type_contiguous(n, MPI_INT, &type));
  for (int i = 0; i < n; ++i) at.push_back(4l * i);
  add("contiguous", type, at);

  MUST(MPI_Type_vector(n, 1, 5, MPI_INT, &type));  // a column of a matrix with rows of 5
  for (int i = 0; i < n; ++i) at[i] = 20l * i;
  add("column", type, at);

  MUST(MPI_Type_vector((n + 2) / 3, 3, 4, MPI_INT, &type));
  std::vector<MPI_Aint> blocks;
  for (int i = 0; i < (n + 2) / 3; ++i)
    for (int j = 0; j < 3; ++j) blocks.push_back(16l * i + 4 * j);
  add("vector of blocks", type, blocks);

  MUST(MPI_Type_create_hvector(n, 1, -12, MPI_INT, &type));  // backwards
  for (int i = 0; i < n; ++i) at[i] = -12l * i;
  add("hvector backwards", type, at);

  std::vector<int> lengths, displacements;
  blocks.clear();
  for (int i = 0, position = 0; i < (n + 1) / 2; ++i) {
    lengths.push_back(i % 4);  // 0 to 3: empty blocks too
    displacements.push_back(position);
    for (int j = 0; j < i % 4; ++j) blocks.push_back(4l * (position + j));
    position += i % 4 + i % 3;
  }
  MUST(MPI_Type_indexed(static_cast<int>(lengths.size()), lengths.data(), displacements.data(),
                        MPI_INT, &type));
  add("indexed", type, blocks);

  std::vector<int> places;
  blocks.clear();
  for (int i = 0; i < n; ++i) {
    places.push_back((n - i) * 3);
    blocks.push_back(12l * (n - i));
    blocks.push_back(12l * (n - i) + 4);
  }
  MUST(MPI_Type_create_indexed_block(n, 2, places.data(), MPI_INT, &type));
  add("indexed block, falling", type, blocks);

  std::vector<MPI_Aint> far;
  std::vector<int> ones(n, 1);
  for (int i = 0; i < n; ++i) far.push_back(8l * i + 4);
  MUST(MPI_Type_create_hindexed(n, ones.data(), far.data(), MPI_INT, &type));
  add("hindexed", type, far);

  MPI_Datatype column;  // resized so that items interleave
  MUST(MPI_Type_vector(n, 1, 8, MPI_INT, &column));
  MUST(MPI_Type_create_resized(column, 0, 4, &type));
  MUST(MPI_Type_free(&column));
  for (int i = 0; i < n; ++i) at[i] = 32l * i;
  add("resized column", type, at);

  MPI_Datatype inner, pair;  // struct of a nested vector and ints
  MUST(MPI_Type_contiguous(2, MPI_INT, &pair));
  MUST(MPI_Type_vector(2, 1, 2, pair, &inner));
  int struct_lengths[] = {1, n, 0, 2};
  MPI_Aint struct_at[] = {8, 64, 4, 64 + 4l * n + 16};
  MPI_Datatype struct_types[] = {inner, MPI_INT, MPI_DOUBLE, pair};
  MUST(MPI_Type_create_struct(4, struct_lengths, struct_at, struct_types, &type));
  MUST(MPI_Type_free(&inner));
  MUST(MPI_Type_free(&pair));
  blocks = {8, 12, 24, 28};
  for (int i = 0; i < n; ++i) blocks.push_back(64 + 4l * i);
  for (int i = 0; i < 4; ++i) blocks.push_back(struct_at[3] + 4l * i);
  add("struct", type, blocks);
  return result;
}

struct Area {  // memory around an item's origin, with room for negative displacements
  std::vector<unsigned char> bytes;
  unsigned char* origin;
  Area(const Layout& layout, int items) {
    MPI_Aint lower = 0, extent = 0, low = 0, high = 0;
    MPI_Type_get_extent(layout.type, &lower, &extent);
    for (int item : {0, items - 1})
      for (auto at : layout.positions) {
        low = std::min(low, at + item * extent);
        high = std::max(high, at + item * extent + 4);
      }
    bytes.assign(high - low + 128, 0xEE);
    origin = bytes.data() + 64 - low;
  }
};

static int value_of(int seed, size_t i) {
  return static_cast<int>(seed * 1000003 + i * 7 + 1);
}

static void put(Area& area, const Layout& layout, int items, int seed) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(layout.type, &lower, &extent);
  size_t index = 0;
  for (int item = 0; item < items; ++item)
    for (auto at : layout.positions) {
      int value = value_of(seed, index++);
      memcpy(area.origin + item * extent + at, &value, 4);
    }
}

int main(int argc, char** argv) {
  start(argc, argv);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  std::vector<int> lengths = {4, 100, 3000};
  if (option("large", 1)) lengths.push_back(30000);
  for (int n : lengths) {
    auto all = layouts(n);
    for (auto& sent : all)
      for (auto& received : all) {
        const bool flat = &sent == &all[0] || &received == &all[0];
        if (!flat && &sent != &received && n > 3000) continue;
        // One signature: as many ints on both sides, whole items on the sending side.
        const int ints = static_cast<int>(sent.positions.size());
        const int room =
            static_cast<int>((ints + received.positions.size() - 1) / received.positions.size());
        Area source(sent, 1), target(received, room), expected(received, room);
        put(source, sent, 1, rank);
        MPI_Aint lower, extent;
        MPI_Type_get_extent(received.type, &lower, &extent);
        for (int i = 0; i < ints; ++i) {
          int value = value_of(from, i), per = static_cast<int>(received.positions.size());
          memcpy(expected.origin + i / per * extent + received.positions[i % per], &value, 4);
        }
        MPI_Request request;
        MPI_Status status;
        if (n & 4 || &sent == &received) {
          MUST(MPI_Irecv(target.origin, room, received.type, from, 1, MPI_COMM_WORLD, &request));
          MUST(MPI_Send(source.origin, 1, sent.type, to, 1, MPI_COMM_WORLD));
        } else {
          MPI_Request send;
          MUST(MPI_Isend(source.origin, 1, sent.type, to, 1, MPI_COMM_WORLD, &send));
          MUST(MPI_Irecv(target.origin, room, received.type, from, 1, MPI_COMM_WORLD, &request));
          MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
        }
        MUST(MPI_Wait(&request, &status));
        CHECK(target.bytes == expected.bytes, "%s to %s, n %d", sent.name, received.name, n);
        int count = -1, elements = -1, per = static_cast<int>(received.positions.size());
        MPI_Get_count(&status, received.type, &count);
        MPI_Get_elements(&status, received.type, &elements);
        CHECK(elements == ints, "%s to %s: elements %d", sent.name, received.name, elements);
        CHECK(count == (ints % per ? int(MPI_UNDEFINED) : ints / per),
              "%s to %s: count %d of %d by %d", sent.name, received.name, count, ints, per);
      }
    for (auto& layout : all) MUST(MPI_Type_free(&layout.type));
  }
  // Items that interleave: 8 columns of an 8-wide matrix make the transposed matrix.
  {
    double matrix[8][8], transposed[8][8] = {};
    for (int i = 0; i < 64; ++i) matrix[i / 8][i % 8] = rank * 64 + i;
    MPI_Datatype column, stacked;
    MUST(MPI_Type_vector(8, 1, 8, MPI_DOUBLE, &column));
    MUST(MPI_Type_create_resized(column, 0, sizeof(double), &stacked));
    MUST(MPI_Type_commit(&stacked));
    MUST(MPI_Sendrecv(matrix, 8, stacked, to, 2, transposed, 64, MPI_DOUBLE, from, 2,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 64; ++i)
      CHECK(transposed[i % 8][i / 8] == from * 64 + i, "transposed %d", i);
    MUST(MPI_Type_free(&column));
    MUST(MPI_Type_free(&stacked));
  }
  // Absolute addresses; the type is freed while the messages are under way.
  for (int n : {1, 1000, 100000}) {
    std::vector<int> a(n), in_a(n);
    std::vector<double> b(n), in_b(n);
    for (int i = 0; i < n; ++i) a[i] = rank * 7 + i, b[i] = rank * 0.5 + i;
    auto absolute = [n](std::vector<int>& x, std::vector<double>& y) {
      MPI_Aint at[2];
      MUST(MPI_Get_address(x.data(), &at[0]));
      MUST(MPI_Get_address(y.data(), &at[1]));
      int blocks[] = {n, n};
      MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE}, type;
      MUST(MPI_Type_create_struct(2, blocks, at, types, &type));
      MUST(MPI_Type_commit(&type));
      return type;
    };
    MPI_Datatype out_type = absolute(a, b), in_type = absolute(in_a, in_b);
    MPI_Request requests[2];
    MUST(MPI_Irecv(MPI_BOTTOM, 1, in_type, from, 3, MPI_COMM_WORLD, &requests[0]));
    MUST(MPI_Isend(MPI_BOTTOM, 1, out_type, to, 3, MPI_COMM_WORLD, &requests[1]));
    MUST(MPI_Type_free(&in_type));
    MUST(MPI_Type_free(&out_type));
    CHECK(in_type == MPI_DATATYPE_NULL);
    MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < n; ++i) {
      CHECK(in_a[i] == from * 7 + i && in_b[i] == from * 0.5 + i, "absolute %d", i);
      if (errors > 5) break;
    }
  }
  return finish();
}
