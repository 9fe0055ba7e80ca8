// What MPI says about datatypes, groups and new communicators.
#include <algorithm>
#include <numeric>

#include "layout.h"
#include "team.h"

namespace fuzz {
namespace {

std::uint64_t hash_of(MPI_Aint value) {
  return mix(17, static_cast<std::uint64_t>(value));
}

/// Packs some elements as external32 and unpacks them.
std::uint64_t external32(Operation& op, const Layout& layout) {
  std::uint64_t hash = 1;
  const int count = op.random.between(0, 5);
  const Buffer from(layout, count, op.seed);
  MPI_Aint room = 0, position = 0;
  MUST(MPI_Pack_external_size("external32", count, layout.type, &room));
  std::vector<unsigned char> packed(static_cast<std::size_t>(room) + 8);
  MUST(
      MPI_Pack_external("external32", from.at, count, layout.type, packed.data(), room, &position));
  hash = hash_bytes(packed.data(), static_cast<std::size_t>(position), mix(hash, hash_of(room)));
  MPI_Aint again = 0;
  Buffer to(layout, count, ~op.seed);
  MUST(MPI_Unpack_external("external32", packed.data(), position, &again, to.at, count,
                           layout.type));
  hash = mix(hash, to.hash());
  return hash;
}

}  // namespace

void datatype(Operation& op) {
  Layouts layouts(op.random, 2, op.random.between(1, 30));
  std::uint64_t hash = 1;
  for (const Layout& layout : layouts.all) {
    for (const MPI_Aint value : {layout.lb, layout.extent, layout.true_lb, layout.true_extent,
                                 static_cast<MPI_Aint>(layout.bytes)}) {
      hash = mix(hash, hash_of(value));
    }
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    MUST(MPI_Type_get_envelope(layout.type, &integers, &addresses, &types, &combiner));
    for (const int value : {integers, addresses, types, combiner}) {
      hash = mix(hash, static_cast<std::uint64_t>(value));
    }
    if (combiner != MPI_COMBINER_NAMED) {
      std::vector<int> the_integers(static_cast<std::size_t>(integers) + 1);
      std::vector<MPI_Aint> the_addresses(static_cast<std::size_t>(addresses) + 1);
      std::vector<MPI_Datatype> the_types(static_cast<std::size_t>(types) + 1);
      MUST(MPI_Type_get_contents(layout.type, integers, addresses, types, the_integers.data(),
                                 the_addresses.data(), the_types.data()));
      hash =
          hash_bytes(the_integers.data(), sizeof(int) * static_cast<std::size_t>(integers), hash);
      hash = hash_bytes(the_addresses.data(),
                        sizeof(MPI_Aint) * static_cast<std::size_t>(addresses), hash);
      for (int i = 0; i < types; ++i) {
        MPI_Datatype& inner = the_types[static_cast<std::size_t>(i)];
        int a = 0, b = 0, c = 0, of = 0, size = 0;
        MUST(MPI_Type_size(inner, &size));
        hash = mix(hash, static_cast<std::uint64_t>(size));
        MUST(MPI_Type_get_envelope(inner, &a, &b, &c, &of));
        if (of != MPI_COMBINER_NAMED) {
          MUST(MPI_Type_free(&inner));
        }
      }
    }
    if (layout.unit < portable_units) {  // MPICH 5.0.2 dies of external32 of others
      hash = mix(hash, external32(op, layout));
    }
    // A message to itself, from one layout into another.
    const long times = op.random.between(0, 20);
    const Layout &out = layouts.of(0), &in = layouts.of(1);
    Buffer there(in, layouts.count(1, times), ~op.seed);
    const Buffer here(out, layouts.count(0, times), op.seed);
    MUST(MPI_Sendrecv(here.at, layouts.count(0, times), out.type, 0, 3, there.at,
                      layouts.count(1, times), in.type, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    hash = mix(hash, there.hash());
  }
  op.digest.add(20, hash);
}

void group(Operation& op) {
  Random& random = op.random;
  MPI_Group world, made, other;
  MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
  const int n = op.run.size;
  std::vector<int> ranks(static_cast<std::size_t>(n));
  std::iota(ranks.begin(), ranks.end(), 0);
  random.shuffle(ranks);
  MUST(MPI_Group_incl(world, random.between(0, n), ranks.data(), &made));
  random.shuffle(ranks);
  MUST(MPI_Group_excl(world, random.between(0, n), ranks.data(), &other));
  std::uint64_t hash = 1;
  for (int step = random.between(1, 5); step > 0; --step) {
    MPI_Group result;
    switch (random.below(4)) {
      case 0:
        MUST(MPI_Group_union(made, other, &result));
        break;
      case 1:
        MUST(MPI_Group_intersection(made, other, &result));
        break;
      case 2:
        MUST(MPI_Group_difference(made, other, &result));
        break;
      default: {
        int size = 0;
        MUST(MPI_Group_size(made, &size));
        int range[1][3] = {{0, size - 1, random.between(1, 3)}};
        MUST(MPI_Group_range_excl(made, size > 0 ? 1 : 0, range, &result));
        break;
      }
    }
    MUST(MPI_Group_free(&made));
    made = result;
    int size = 0, mine = 0, compared = 0;
    MUST(MPI_Group_size(made, &size));
    MUST(MPI_Group_rank(made, &mine));
    MUST(MPI_Group_compare(made, other, &compared));
    std::vector<int> all(static_cast<std::size_t>(size)), worlds(all.size() + 1);
    std::iota(all.begin(), all.end(), 0);
    MUST(MPI_Group_translate_ranks(made, size, all.data(), world, worlds.data()));
    hash = hash_bytes(worlds.data(), static_cast<std::size_t>(size) * sizeof(int), hash);
    hash = mix(mix(hash, static_cast<std::uint64_t>(mine)), static_cast<std::uint64_t>(compared));
  }
  MUST(MPI_Group_free(&world));
  MUST(MPI_Group_free(&made));
  MUST(MPI_Group_free(&other));
  op.digest.add(21, hash);
}

void churn(Operation& op) {
  Random& random = op.random;
  const int index = random.below(static_cast<int>(op.run.teams.size()));
  const Team& team = *op.run.teams[static_cast<std::size_t>(index)];
  if (team.comm == MPI_COMM_NULL || team.inter) {
    return;
  }
  for (int i = random.between(1, 4); i > 0; --i) {
    MPI_Comm made = make_alike(random, team, 2000 + op.digest.step * 16 + op.digest.number);
    int rank = 0, compared = 0;
    MUST(MPI_Comm_rank(made, &rank));
    MUST(MPI_Comm_compare(made, team.comm, &compared));
    if (op.run.plain) {  // MPICH 5.0.2 says MPI_UNEQUAL of some
      compared = MPI_CONGRUENT;
    }
    const std::uint32_t mine =
        static_cast<std::uint32_t>(op.seed) * static_cast<std::uint32_t>(rank + 1);
    std::uint32_t sum = 0;
    MPI_Request request;
    MUST(MPI_Iallreduce(&mine, &sum, 1, MPI_UINT32_T, MPI_SUM, made, &request));
    if (op.run.plain) {
      MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    MUST(MPI_Comm_free(&made));  // what is under way holds it
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    op.digest.add(22, mix(sum, static_cast<std::uint64_t>(rank * 8 + compared)));
  }
}

}  // namespace fuzz
