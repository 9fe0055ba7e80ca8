#include "layout.h"

#include <numeric>

namespace fuzz {
namespace {

/// A struct of three basic types with gaps before, between and behind.
MPI_Datatype gapped_struct(Random& random, MPI_Datatype a, MPI_Datatype b, MPI_Datatype c) {
  const MPI_Datatype types[] = {a, b, c};
  const int lengths[] = {1, 2, 1};
  MPI_Aint places[3], at = random.between(-2, 2) * 8;
  for (int i = 0; i < 3; ++i) {
    int size;
    MUST(MPI_Type_size(types[i], &size));
    places[i] = at;
    at += lengths[i] * size + random.below(3) * 8;
    at = (at + 7) / 8 * 8;
  }
  MPI_Datatype made;
  MUST(MPI_Type_create_struct(3, lengths, places, types, &made));
  return made;
}

std::vector<int> lengths_of(Random& random, int blocks, int longest) {
  std::vector<int> lengths(static_cast<std::size_t>(blocks));
  for (int& length : lengths) {
    length = random.between(random.chance(15) ? 0 : 1, longest);
  }
  return lengths;
}

/// Places for blocks of these lengths, which do not overlap, in any order.
std::vector<int> places_of(Random& random, const std::vector<int>& lengths) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (random.chance(40)) {
    random.shuffle(order);
  }
  std::vector<int> places(lengths.size());
  int at = random.between(-3, 3);
  for (const std::size_t i : order) {
    places[i] = at;
    at += lengths[i] + (random.chance(50) ? 0 : random.below(3));
  }
  return places;
}

}  // namespace

bool keep_types = false;

Layout::Layout(Random& random, int unit, int most_units) {
  static const MPI_Datatype basic[] = {MPI_INT,
                                       MPI_DOUBLE,
                                       MPI_CHAR,
                                       MPI_BYTE,
                                       MPI_SHORT,
                                       MPI_FLOAT,
                                       MPI_LONG,
                                       MPI_UINT16_T,
                                       MPI_INT64_T,
                                       MPI_UNSIGNED_CHAR,
                                       MPI_UNSIGNED,
                                       MPI_WCHAR,
                                       MPI_C_BOOL,
                                       MPI_AINT,
                                       MPI_UNSIGNED_LONG_LONG,
                                       MPI_2INT,
                                       MPI_C_DOUBLE_COMPLEX};
  constexpr int basics = sizeof basic / sizeof *basic;
  static_assert(basics == plain_units);
  this->unit = unit;
  if (unit < basics) {
    adopt(basic[unit], 1, false);
  } else if (unit == basics) {
    adopt(gapped_struct(random, MPI_INT, MPI_CHAR, MPI_DOUBLE), 1, true);
  } else if (unit == basics + 1) {
    adopt(gapped_struct(random, MPI_SHORT, MPI_SHORT, MPI_FLOAT), 1, true);
  } else {
    adopt(gapped_struct(random, MPI_BYTE, MPI_LONG, MPI_CHAR), 1, true);
  }
  const int depth = random.chance(35) ? 0 : random.between(1, 4);
  for (int i = 0; i < depth && units < most_units; ++i) {
    arrange(random, static_cast<int>(most_units / units));
  }
  MUST(MPI_Type_commit(&type));
}

Layout::~Layout() {
  if (mine_ && !keep_types) {
    MUST(MPI_Type_free(&type));
  }
}

Layout& Layout::operator=(Layout&& other) noexcept {
  std::swap(type, other.type);
  std::swap(units, other.units);
  std::swap(unit, other.unit);
  std::swap(bytes, other.bytes);
  std::swap(lb, other.lb);
  std::swap(extent, other.extent);
  std::swap(true_lb, other.true_lb);
  std::swap(true_extent, other.true_extent);
  std::swap(mine_, other.mine_);
  return *this;
}

void Layout::adopt(MPI_Datatype made, long of_units, bool mine) {
  type = made;
  units = of_units;
  mine_ = mine;
  MUST(MPI_Type_size(type, &bytes));
  MUST(MPI_Type_get_extent(type, &lb, &extent));
  MUST(MPI_Type_get_true_extent(type, &true_lb, &true_extent));
}

/// `made` holds the old type, which may go.
void Layout::replace(MPI_Datatype made, long of_units) {
  if (mine_) {
    MUST(MPI_Type_free(&type));
  }
  adopt(made, of_units, true);
}

/// One constructor around what is there: at most `most` of it.
void Layout::arrange(Random& random, int most) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const int blocks = random.between(1, most < 4 ? most : 4);
  const int longest = most / blocks < 3 ? most / blocks : 3;
  const int length = random.between(1, longest);
  std::vector<int> lengths = lengths_of(random, blocks, longest);
  if (std::accumulate(lengths.begin(), lengths.end(), 0) == 0) {
    lengths[0] = 1;
  }
  const int total = std::accumulate(lengths.begin(), lengths.end(), 0);
  const std::vector<int> places = places_of(random, lengths);
  std::vector<MPI_Aint> bytes_at(places.begin(), places.end());
  for (MPI_Aint& place : bytes_at) {
    place *= extent;
  }
  const int stride = (length + random.below(3)) * (random.chance(20) ? -1 : 1);
  switch (random.below(12)) {
    case 0:
      MUST(MPI_Type_contiguous(blocks, type, &made));
      return replace(made, units * blocks);
    case 1:
      MUST(MPI_Type_vector(blocks, length, stride, type, &made));
      return replace(made, units * blocks * length);
    case 2:
      MUST(MPI_Type_create_hvector(blocks, length, stride * extent, type, &made));
      return replace(made, units * blocks * length);
    case 3:
      MUST(MPI_Type_indexed(blocks, lengths.data(), places.data(), type, &made));
      return replace(made, units * total);
    case 4:
      MUST(MPI_Type_create_hindexed(blocks, lengths.data(), bytes_at.data(), type, &made));
      return replace(made, units * total);
    case 5: {
      const std::vector<int> equal(lengths.size(), length);
      const std::vector<int> at = places_of(random, equal);
      MUST(MPI_Type_create_indexed_block(blocks, length, at.data(), type, &made));
      return replace(made, units * blocks * length);
    }
    case 6: {
      const std::vector<int> equal(lengths.size(), length);
      const std::vector<int> at = places_of(random, equal);
      std::vector<MPI_Aint> in_bytes(at.begin(), at.end());
      for (MPI_Aint& place : in_bytes) {
        place *= extent;
      }
      MUST(MPI_Type_create_hindexed_block(blocks, length, in_bytes.data(), type, &made));
      return replace(made, units * blocks * length);
    }
    case 7: {
      const std::vector<MPI_Datatype> types(lengths.size(), type);
      MUST(MPI_Type_create_struct(blocks, lengths.data(), bytes_at.data(), types.data(), &made));
      return replace(made, units * total);
    }
    case 8: {  // a part of a matrix; the product of the parts' sizes is at most `most`
      const int part[] = {blocks, length};
      const int start[] = {random.below(3), random.below(3)};
      const int whole[] = {start[0] + part[0] + random.below(2),
                           start[1] + part[1] + random.below(3)};
      const int order = random.chance(50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
      MUST(MPI_Type_create_subarray(2, whole, part, start, order, type, &made));
      return replace(made, units * blocks * length);
    }
    case 9: {
      const MPI_Aint before = random.below(3) * 8, behind = random.below(3) * 8;
      MUST(MPI_Type_create_resized(type, lb - before, extent + before + behind, &made));
      return replace(made, units);
    }
    case 10:
      MUST(MPI_Type_dup(type, &made));
      return replace(made, units);
    default: {  // a process's part of a block-cyclic array
      const int whole[] = {2 * blocks};
      const int distribution[] = {random.chance(50) ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC};
      const int argument[] = {MPI_DISTRIBUTE_DFLT_DARG};
      const int grid[] = {2};
      MUST(MPI_Type_create_darray(2, random.below(2), 1, whole, distribution, argument, grid,
                                  MPI_ORDER_C, type, &made));
      return replace(made, units * blocks);
    }
  }
}

Layouts::Layouts(Random& random, int kinds, int most_units) {
  const int unit = random.below(unit_kinds);
  // The unit itself is drawn anew for each, with other gaps: same signature, another place.
  for (int i = 0; i < kinds; ++i) {
    all.emplace_back(random, unit, most_units);
    common = std::lcm(common, all.back().units);
  }
}

long Layouts::times_of(long bytes) const {
  const long each = common * all[0].bytes / all[0].units;
  return (bytes + each - 1) / each;
}

Buffer::Buffer(const Layout& layout, long slots, std::uint64_t seed) {
  constexpr std::size_t margin = 32;
  std::size_t bytes = 0;
  if (slots > 0) {
    bytes = static_cast<std::size_t>((slots - 1) * layout.extent + layout.true_extent);
  }
  memory_.resize(margin + bytes + margin);
  fill(seed);
  at = memory_.data() + margin - layout.true_lb;
}

void Buffer::fill(std::uint64_t seed) {
  Random random(seed, 77);
  std::size_t i = 0;
  for (; i + 8 <= memory_.size(); i += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(&memory_[i], &word, 8);
  }
  for (; i < memory_.size(); ++i) {
    memory_[i] = static_cast<unsigned char>(random.next());
  }
}

}  // namespace fuzz
