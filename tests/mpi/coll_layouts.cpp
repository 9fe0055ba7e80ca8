// Members whose datatypes have one signature, (int, double), but different layouts: packed, with
// gaps, backwards, below the buffer's address, far apart. Every reduction by a user's op, which
// must see its own member's layout, and every collective that moves data; gaps stay what they were.
#include "collective.h"

#include <algorithm>
#include <cstddef>

using namespace check;

struct Layout {
  MPI_Aint key, value, extent;
  MPI_Datatype type;
};
static Layout layouts[] = {{0, 4, 12, MPI_DATATYPE_NULL},
                           {0, 8, 16, MPI_DATATYPE_NULL},
                           {24, 8, 40, MPI_DATATYPE_NULL},
                           {-8, 0, 24, MPI_DATATYPE_NULL},
                           {0, 100, 200, MPI_DATATYPE_NULL}};
constexpr int kinds = 5;
static MPI_Datatype reduced_type;  // what the op must be called with
static int other_types;

// An affine map x -> key * x + value modulo a prime: joining them is associative, not commutative,
// and exact in a double.
struct Map {
  int key;
  double value;
  bool operator==(const Map& other) const { return key == other.key && value == other.value; }
};
constexpr int prime = 10007;
static Map joined(const Map& f, const Map& g) {
  return {f.key * g.key % prime, double((f.key * int(g.value) + int(f.value)) % prime)};
}
static Map map_of(int member, int index) {
  return {1 + (member * 31 + index * 7) % 1000, double((member * 17 + index * 3) % prime)};
}

static Map load(const char* element, const Layout& layout) {
  Map map;
  memcpy(&map.key, element + layout.key, sizeof map.key);
  memcpy(&map.value, element + layout.value, sizeof map.value);
  return map;
}
static void store(char* element, const Layout& layout, const Map& map) {
  memcpy(element + layout.key, &map.key, sizeof map.key);
  memcpy(element + layout.value, &map.value, sizeof map.value);
}

static void join_maps(void* in, void* inout, int* length, MPI_Datatype* type) {
  for (const Layout& layout : layouts) {
    if (layout.type != *type) continue;
    other_types += *type != reduced_type;
    auto *a = static_cast<char*>(in), *b = static_cast<char*>(inout);
    for (int i = 0; i < *length; ++i, a += layout.extent, b += layout.extent)
      store(b, layout, joined(load(a, layout), load(b, layout)));
    return;
  }
  ++other_types;
}

// Elements of one layout in memory whose gaps are marked.
class Array {
 public:
  Array(int count, const Layout& layout)
      : layout_(layout), count_(count), memory_(count * layout.extent + 64, mark) {}
  char* at(int index) { return memory_.data() + 16 + index * layout_.extent; }
  char* buffer() { return at(0); }
  MPI_Datatype type() const { return layout_.type; }
  Map operator[](int index) { return load(at(index), layout_); }
  void set(int index, const Map& map) { store(at(index), layout_, map); }
  void fill(int member, int first = 0) {
    for (int i = 0; i < count_; ++i) set(i, map_of(member, first + i));
  }
  // Overwrites the data by the mark, too, and says whether all had been marks but for the data.
  bool gaps_untouched() {
    for (int i = 0; i < count_; ++i) {
      memset(at(i) + layout_.key, mark, sizeof(int));
      memset(at(i) + layout_.value, mark, sizeof(double));
    }
    return std::all_of(memory_.begin(), memory_.end(), [](char c) { return c == mark; });
  }

 private:
  static constexpr char mark = 0x5a;
  const Layout& layout_;
  int count_;
  std::vector<char> memory_;
};

// What members first to last make of element `index`.
static Map sum_of(int first, int last, int index) {
  Map sum = map_of(last, index);
  for (int member = last - 1; member >= first; --member) sum = joined(map_of(member, index), sum);
  return sum;
}

static void check_sums(Array& array, int count, int last, int offset, const Team& team, Form form,
                       const char* call) {
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += !(array[i] == sum_of(0, last, offset + i));
  CHECK(wrong == 0, "%s, %s, on %s: %d of %d elements", call, name_of(form), team.name, wrong,
        count);
  CHECK(array.gaps_untouched(), "%s, %s, on %s: gaps written to", call, name_of(form), team.name);
}

static void reductions(const Team& team, Form form, int count, MPI_Op op) {
  const Layout& layout = layouts[team.rank % kinds];
  reduced_type = layout.type;
  MPI_Comm comm = team.comm;
  const int last = team.size - 1;
  Array in(count, layout);
  in.fill(team.rank);
  for (int root : {0, last}) {
    Array out(count, layout);
    CALL(form, Reduce, reduce, in.buffer(), out.buffer(), count, in.type(), op, root, comm);
    if (team.rank == root) check_sums(out, count, last, 0, team, form, "Reduce");
  }
  {
    Array out(count, layout);
    CALL(form, Allreduce, allreduce, in.buffer(), out.buffer(), count, in.type(), op, comm);
    check_sums(out, count, last, 0, team, form, "Allreduce");
    out.fill(team.rank);
    CALL(form, Allreduce, allreduce, MPI_IN_PLACE, out.buffer(), count, in.type(), op, comm);
    check_sums(out, count, last, 0, team, form, "Allreduce in place");
  }
  {
    Array out(count, layout);
    CALL(form, Scan, scan, in.buffer(), out.buffer(), count, in.type(), op, comm);
    check_sums(out, count, team.rank, 0, team, form, "Scan");
    out.fill(team.rank);
    CALL(form, Exscan, exscan, MPI_IN_PLACE, out.buffer(), count, in.type(), op, comm);
    if (team.rank > 0) check_sums(out, count, team.rank - 1, 0, team, form, "Exscan in place");
  }
  {
    const int each = count / team.size + 1, all = each * team.size;
    Array given(all, layout), out(each, layout);
    given.fill(team.rank);
    CALL(form, Reduce_scatter_block, reduce_scatter_block, given.buffer(), out.buffer(), each,
         in.type(), op, comm);
    check_sums(out, each, last, team.rank * each, team, form, "Reduce_scatter_block");
    std::vector<int> counts(team.size);
    int first = 0;
    for (int r = 0; r < team.size; ++r) {
      counts[r] = r % 2 == 0 ? each : each / 2;
      if (r < team.rank) first += counts[r];
    }
    Array parts(counts[team.rank], layout);
    CALL(form, Reduce_scatter, reduce_scatter, given.buffer(), parts.buffer(), counts.data(),
         in.type(), op, comm);
    check_sums(parts, counts[team.rank], last, first, team, form, "Reduce_scatter");
  }
}

// Block `from`, filled by fill(from, first), must be there from element `at` on.
static void check_block(Array& array, int at, int count, int from, int first, const char* call) {
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += !(array[at + i] == map_of(from, first + i));
  CHECK(wrong == 0, "%s: %d of %d elements from %d", call, wrong, count, from);
}

static void moves(const Team& team, Form form, int count) {
  const Layout &mine = layouts[team.rank % kinds], &other = layouts[(team.rank + 2) % kinds];
  MPI_Comm comm = team.comm;
  const int all = count * team.size, root = team.size / 2;
  {
    Array data(count, mine);
    if (team.rank == root) data.fill(root);
    CALL(form, Bcast, bcast, data.buffer(), count, data.type(), root, comm);
    check_block(data, 0, count, root, 0, "Bcast");
    CHECK(data.gaps_untouched());
  }
  Array one(count, mine), many(all, other);
  one.fill(team.rank);
  CALL(form, Gather, gather, one.buffer(), count, one.type(), many.buffer(), count, many.type(),
       root, comm);
  if (team.rank == root) {
    for (int r = 0; r < team.size; ++r) check_block(many, r * count, count, r, 0, "Gather");
    CHECK(many.gaps_untouched());
  }
  CALL(form, Allgather, allgather, one.buffer(), count, one.type(), many.buffer(), count,
       many.type(), comm);
  for (int r = 0; r < team.size; ++r) check_block(many, r * count, count, r, 0, "Allgather");
  CHECK(many.gaps_untouched());

  Array given(all, mine);
  given.fill(team.rank);
  Array part(count, other);
  CALL(form, Scatter, scatter, given.buffer(), count, given.type(), part.buffer(), count,
       part.type(), root, comm);
  check_block(part, 0, count, root, team.rank * count, "Scatter");
  CHECK(part.gaps_untouched());
  CALL(form, Alltoall, alltoall, given.buffer(), count, given.type(), many.buffer(), count,
       many.type(), comm);
  for (int r = 0; r < team.size; ++r)
    check_block(many, r * count, count, r, team.rank * count, "Alltoall");
  CHECK(many.gaps_untouched());

  // Types in place of counts: blocks of one element, a contiguous type at some.
  std::vector<int> ones(team.size, 1), send_at(team.size), receive_at(team.size);
  MPI_Datatype send_type, receive_type;
  MUST(MPI_Type_contiguous(count, given.type(), &send_type));
  MUST(MPI_Type_contiguous(count, many.type(), &receive_type));
  MUST(MPI_Type_commit(&send_type));
  MUST(MPI_Type_commit(&receive_type));
  std::vector<MPI_Datatype> send_types(team.size, send_type),
      receive_types(team.size, receive_type);
  for (int r = 0; r < team.size; ++r) {
    send_at[r] = int(r * count * mine.extent);
    receive_at[r] = int(r * count * other.extent);
  }
  CALL(form, Alltoallw, alltoallw, given.buffer(), ones.data(), send_at.data(), send_types.data(),
       many.buffer(), ones.data(), receive_at.data(), receive_types.data(), comm);
  for (int r = 0; r < team.size; ++r)
    check_block(many, r * count, count, r, team.rank * count, "Alltoallw");
  CHECK(many.gaps_untouched());
  MUST(MPI_Type_free(&send_type));
  MUST(MPI_Type_free(&receive_type));
}

int main(int argc, char** argv) {
  start(argc, argv);
  for (Layout& layout : layouts) {
    int lengths[] = {1, 1};
    MPI_Aint at[] = {layout.key, layout.value};
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE}, bare;
    MUST(MPI_Type_create_struct(2, lengths, at, types, &bare));
    MUST(MPI_Type_create_resized(bare, std::min<MPI_Aint>(0, layout.key), layout.extent,
                                 &layout.type));
    MUST(MPI_Type_commit(&layout.type));
    MUST(MPI_Type_free(&bare));
  }
  MPI_Op op;
  MUST(MPI_Op_create(join_maps, 0, &op));
  for_teams([&](const Team& team, Form form) {
    // Of 12 bytes: in a slot, a deposit, several rounds.
    for (int count : {1, 3, 100, 2000, 12000}) {
      if (count > option("limit", 12000)) break;
      reductions(team, form, count, op);
      if (count <= 2000) moves(team, form, count);
      if (errors > 5) return;
    }
  });
  CHECK(other_types == 0, "the op saw another type than its member's %d times", other_types);
  MUST(MPI_Op_free(&op));
  for (Layout& layout : layouts) MUST(MPI_Type_free(&layout.type));
  return finish();
}
