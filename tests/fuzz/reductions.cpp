// Collectives that compute: predefined operations on integers, a user's operation that does not
// commute, and one on a datatype with gaps.
#include <algorithm>

#include "collective.h"
#include "layout.h"
#include "team.h"

namespace fuzz {
namespace {

/// x → a·x + b, one after the other: associative, and the order matters.
struct Map {
  std::uint32_t a, b;
};

void compose(void* in, void* inout, int* length, MPI_Datatype* type) {
  MPI_Aint lb, extent;
  MUST(MPI_Type_get_extent(*type, &lb, &extent));
  for (int i = 0; i < *length; ++i) {
    Map first, second;
    std::memcpy(&first, static_cast<char*>(in) + i * extent, sizeof first);
    char* at = static_cast<char*>(inout) + i * extent;
    std::memcpy(&second, at, sizeof second);
    const Map both{first.a * second.a, second.a * first.b + second.b};
    std::memcpy(at, &both, sizeof both);
  }
}

void add_maps(void* in, void* inout, int* length, MPI_Datatype* type) {
  MPI_Aint lb, extent;
  MUST(MPI_Type_get_extent(*type, &lb, &extent));
  for (int i = 0; i < *length; ++i) {
    Map one, other;
    std::memcpy(&one, static_cast<char*>(in) + i * extent, sizeof one);
    char* at = static_cast<char*>(inout) + i * extent;
    std::memcpy(&other, at, sizeof other);
    const Map both{one.a + other.a, one.b ^ other.b};
    std::memcpy(at, &both, sizeof both);
  }
}

/// Eight bytes, and a gap of four.
MPI_Datatype map_type(bool gap) {
  MPI_Datatype pair, made;
  MUST(MPI_Type_contiguous(2, MPI_UINT32_T, &pair));
  MUST(MPI_Type_create_resized(pair, 0, gap ? 12 : 8, &made));
  MUST(MPI_Type_free(&pair));
  MUST(MPI_Type_commit(&made));
  return made;
}

struct Reduction {
  MPI_Datatype type = MPI_INT;
  MPI_Op op = MPI_SUM;
  bool users = false;  ///< type and operation are the user's and freed at once

  void draw(Random& random) {
    static const MPI_Datatype integers[] = {MPI_INT,    MPI_UNSIGNED, MPI_INT64_T, MPI_UINT16_T,
                                            MPI_INT8_T, MPI_LONG,     MPI_UINT8_T, MPI_SHORT};
    static const MPI_Datatype unsigned_ones[] = {MPI_UNSIGNED, MPI_UINT64_T, MPI_UINT16_T,
                                                 MPI_UINT8_T};
    static const MPI_Op ops[] = {MPI_MAX,  MPI_MIN,  MPI_BAND, MPI_BOR,
                                 MPI_BXOR, MPI_LAND, MPI_LOR,  MPI_LXOR};
    switch (random.below(5)) {
      case 0:
        type = unsigned_ones[random.below(4)];
        op = random.chance(50) ? MPI_SUM : MPI_PROD;
        break;
      case 1:
        type = MPI_2INT;
        op = random.chance(50) ? MPI_MAXLOC : MPI_MINLOC;
        break;
      case 2:
        users = true;
        type = map_type(random.chance(50));
        if (random.chance(50)) {
          MUST(MPI_Op_create(compose, 0, &op));
        } else {
          MUST(MPI_Op_create(add_maps, random.chance(50) ? 1 : 0, &op));
        }
        break;
      default:
        type = integers[random.below(8)];
        op = ops[random.below(8)];
        break;
    }
  }
};

}  // namespace

void reduction(Operation& op) {
  Random& random = op.random;
  const Team* team = collective_team(op);
  if (team == nullptr) {
    return;
  }
  enum { reduce, allreduce, scatter_block, scatter, scan, exscan, kinds };
  const int kind = random.below(team->inter ? scan : kinds), form = random.below(3);
  const int rounds = random.between(1, 3);
  const int root_side = team->inter ? random.below(2) : 0;
  const int root = random.below(team->sizes[root_side]);
  const bool in_place = random.chance(30) && !team->inter;
  struct Data {
    Layout layout;
    Buffer out, in;
    std::vector<int> counts;
  };
  auto data = std::make_shared<Data>();
  Reduction what;
  what.draw(random);
  Data& d = *data;
  d.layout = Layout(what.type);
  const long most = message_bytes(random, op.run.limit / 2) / d.layout.bytes;
  const int n = team->size(), parts = std::max(team->sizes[0], team->sizes[1]);
  const std::uint64_t seed =
      mix(op.seed, static_cast<std::uint64_t>(team->rank + 1000 * team->side));
  const bool is_root = team->side == root_side && team->rank == root;
  const int said = !team->inter || team->side != root_side ? root
                   : team->rank == root                    ? MPI_ROOT
                                                           : MPI_PROC_NULL;
  MPI_Comm comm = team->comm;
  const auto fill = [data, seed](int round) {
    data->out.fill(seed + static_cast<std::uint64_t>(round));
    data->in.fill(~seed + static_cast<std::uint64_t>(round));
  };
  const Take take_in = [data] { return data->in.hash(); };
  int count = static_cast<int>(most);
  if (kind == scatter_block || kind == scatter) {
    count = static_cast<int>(most / parts);
  }
  // Of an intercommunicator, each side scatters as many elements: a part for each of its ranks.
  long total = count;
  if (kind == scatter_block && team->inter) {
    const int both = team->sizes[0] * team->sizes[1];
    total = (count / both + 1) * static_cast<long>(both);
    count = static_cast<int>(total / n);
  } else if (kind == scatter_block) {
    total = static_cast<long>(count) * n;
  } else if (kind == scatter) {
    Random sizes(random.next(), static_cast<std::uint64_t>(team->inter ? team->side : 0));
    total = 0;
    for (int r = 0; r < n; ++r) {
      d.counts.push_back(sizes.chance(20) ? 0 : sizes.between(0, count));
      total += d.counts.back();
    }
    if (team->inter) {  // both sides have the same total: the last rank takes the rest
      const long all = static_cast<long>(count) * parts;
      d.counts.back() += static_cast<int>(all - total);
      total = all;
    }
  }
  const long received = kind == scatter         ? d.counts[static_cast<std::size_t>(team->rank)]
                        : kind == scatter_block ? count
                                                : total;
  d.out = Buffer(d.layout, total, seed);
  d.in = Buffer(d.layout, in_place ? total : received, ~seed);
  const MPI_Datatype type = what.type;
  const MPI_Op with = what.op;
  const void* out = in_place ? MPI_IN_PLACE : d.out.at;
  switch (kind) {
    case reduce:
      run_collective(op, form, rounds, fill, is_root ? take_in : Take([] { return 0; }),
                     FUZZ_FORMS(Reduce, reduce, in_place && is_root ? MPI_IN_PLACE : d.out.at,
                                d.in.at, count, type, with, said, comm));
      break;
    case allreduce:
      run_collective(op, form, rounds, fill, take_in,
                     FUZZ_FORMS(Allreduce, allreduce, out, d.in.at, count, type, with, comm));
      break;
    case scatter_block:
    case scatter: {
      // In place, only the rank's own part of the buffer has a value afterwards.
      const Take own = [data, received] {
        return hash_bytes(data->in.at, static_cast<std::size_t>(received * data->layout.extent));
      };
      const Take take = in_place ? own : take_in;
      if (kind == scatter) {
        run_collective(op, form, rounds, fill, take,
                       FUZZ_FORMS(Reduce_scatter, reduce_scatter, out, d.in.at, d.counts.data(),
                                  type, with, comm));
      } else {
        run_collective(op, form, rounds, fill, take,
                       FUZZ_FORMS(Reduce_scatter_block, reduce_scatter_block, out, d.in.at, count,
                                  type, with, comm));
      }
      break;
    }
    case scan:
      run_collective(op, form, rounds, fill, take_in,
                     FUZZ_FORMS(Scan, scan, out, d.in.at, count, type, with, comm));
      break;
    default:
      // The first rank's result is undefined.
      run_collective(op, form, rounds, fill, team->rank > 0 ? take_in : Take([] { return 0; }),
                     FUZZ_FORMS(Exscan, exscan, out, d.in.at, count, type, with, comm));
      break;
  }
  if (what.users) {  // what is under way holds them
    MUST(MPI_Op_free(&what.op));
    MUST(MPI_Type_free(&what.type));
  }
}

}  // namespace fuzz
