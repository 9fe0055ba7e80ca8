// Collectives that move data, of equal parts and of parts of any size; blocking, non-blocking and
// persistent; on intra- and intercommunicators.
#include <algorithm>
#include <numeric>

#include "collective.h"
#include "layout.h"
#include "team.h"

namespace fuzz {
namespace {

/// Counts and displacements of `parts` blocks of these sizes, one beside the other in any order
/// with gaps. Returns how many elements they span.
long lay_out(Random& random, const std::vector<int>& counts, std::vector<int>& places) {
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(order);
  places.assign(counts.size(), 0);
  long at = 0;
  for (const std::size_t i : order) {
    places[i] = static_cast<int>(at);
    at += counts[i] + (random.chance(30) ? random.below(3) : 0);
  }
  return at;
}

/// What lives until the call is complete.
struct Data {
  explicit Data(Layouts made) : layouts(std::move(made)) {}
  Layouts layouts;
  Buffer out, in;
  std::vector<Buffer> outs, ins;  ///< of Alltoallw, a part each
  std::vector<int> out_counts, in_counts, out_places, in_places;
  std::vector<MPI_Datatype> out_types, in_types;
};

/// The number of the team's rank among both sides', for what each rank draws by itself.
int who(const Team& team, int side, int rank) {
  return rank + (side != 0 ? team.sizes[0] : 0);
}

/// Who is root, as this rank must say it: of an intercommunicator, a rank of side 0 or 1.
int root_argument(const Team& team, int root_side, int root) {
  if (!team.inter) {
    return root;
  }
  if (team.side != root_side) {
    return root;
  }
  return team.rank == root ? MPI_ROOT : MPI_PROC_NULL;
}

}  // namespace

void collective(Operation& op) {
  Random& random = op.random;
  const Team* team = collective_team(op);
  if (team == nullptr) {
    return;
  }
  enum { barrier, bcast, gather, scatter, allgather, alltoall, kinds };
  const int kind = random.below(kinds), form = random.below(3);
  const int root_side = team->inter ? random.below(2) : 0;
  const int root = random.below(team->sizes[root_side]);
  const int rounds = random.between(1, 3);
  const bool in_place_drawn = random.chance(30) && !team->inter;
  auto data = std::make_shared<Data>(Layouts(random, 2, random.between(1, 12)));
  const int n = team->peers();
  const int parts = std::max(team->sizes[0], team->sizes[1]);
  const long bytes = message_bytes(random, op.run.limit) / (kind == bcast ? 1 : parts);
  const long times = data->layouts.times_of(bytes);
  // Each rank's own layout to send from and to receive in.
  const int me = who(*team, team->side, team->rank);
  const Layout &out = data->layouts.of(me), &in = data->layouts.of(me / 2);
  const int sends = data->layouts.count(me, times), receives = data->layouts.count(me / 2, times);
  const std::uint64_t seed = mix(op.seed, static_cast<std::uint64_t>(me));
  const bool is_root = team->side == root_side && team->rank == root;
  const int said = root_argument(*team, root_side, root);
  MPI_Comm comm = team->comm;
  Data& d = *data;
  if (op.run.trace) {
    fprintf(
        stderr,
        "rank %d: collective %d, form %d, root %d, in place %d, unit %d; sends %d of %d bytes and "
        "extent %ld, receives %d of %d and %ld\n",
        team->rank, kind, form, said, in_place_drawn, out.unit, sends, out.bytes,
        static_cast<long>(out.extent), receives, in.bytes, static_cast<long>(in.extent));
  }
  Fill fill;
  Take take;
  const auto fill_both = [data, seed](int round) {
    data->out.fill(seed + static_cast<std::uint64_t>(round));
    data->in.fill(~seed);
  };
  const auto take_in = [data] { return data->in.hash(); };
  switch (kind) {
    case barrier:
      run_collective(
          op, form, 1, {}, [] { return 0; }, FUZZ_FORMS(Barrier, barrier, comm));
      return;
    case bcast:
      d.in = Buffer(in, receives, seed);
      fill = [data, seed](int round) { data->in.fill(seed + static_cast<std::uint64_t>(round)); };
      run_collective(op, form, rounds, fill, take_in,
                     FUZZ_FORMS(Bcast, bcast, d.in.at, receives, in.type, said, comm));
      return;
    case gather: {
      const bool in_place = in_place_drawn && is_root;
      d.out = Buffer(out, sends, seed);
      d.in = Buffer(in, is_root ? static_cast<long>(receives) * n : 0, ~seed);
      take = is_root ? take_in : Take([] { return 0; });
      run_collective(op, form, rounds, fill_both, take,
                     FUZZ_FORMS(Gather, gather, in_place ? MPI_IN_PLACE : d.out.at, sends, out.type,
                                d.in.at, receives, in.type, said, comm));
      return;
    }
    case scatter: {
      const bool in_place = in_place_drawn && is_root;
      d.out = Buffer(out, is_root ? static_cast<long>(sends) * n : 0, seed);
      d.in = Buffer(in, receives, ~seed);
      run_collective(op, form, rounds, fill_both, take_in,
                     FUZZ_FORMS(Scatter, scatter, d.out.at, sends, out.type,
                                in_place ? MPI_IN_PLACE : d.in.at, receives, in.type, said, comm));
      return;
    }
    case allgather:
      d.out = Buffer(out, sends, seed);
      d.in = Buffer(in, static_cast<long>(receives) * n, ~seed);
      run_collective(op, form, rounds, fill_both, take_in,
                     FUZZ_FORMS(Allgather, allgather, in_place_drawn ? MPI_IN_PLACE : d.out.at,
                                sends, out.type, d.in.at, receives, in.type, comm));
      return;
    default:
      d.out = Buffer(out, static_cast<long>(sends) * n, seed);
      d.in = Buffer(in, static_cast<long>(receives) * n, ~seed);
      run_collective(op, form, rounds, fill_both, take_in,
                     FUZZ_FORMS(Alltoall, alltoall, in_place_drawn ? MPI_IN_PLACE : d.out.at, sends,
                                out.type, d.in.at, receives, in.type, comm));
      return;
  }
}

void collective_varying(Operation& op) {
  Random& random = op.random;
  const Team* team = collective_team(op);
  if (team == nullptr) {
    return;
  }
  enum { gatherv, scatterv, allgatherv, alltoallv, alltoallw, kinds };
  const int kind = random.below(kinds), form = random.below(3), rounds = random.between(1, 2);
  const int root_side = team->inter ? random.below(2) : 0;
  const int root = random.below(team->sizes[root_side]);
  const bool in_place_drawn = random.chance(30) && !team->inter;
  auto data = std::make_shared<Data>(Layouts(random, 2, random.between(1, 12)));
  const int n = team->peers();
  const int me = who(*team, team->side, team->rank);
  // How much goes from one to another: of everybody to everybody, or by sender or receiver alone.
  const int parts = std::max(team->sizes[0], team->sizes[1]);
  const long most = data->layouts.times_of(message_bytes(random, op.run.limit) / parts);
  const std::uint64_t amounts = random.next();
  const auto amount = [&](int from, int to) {
    Random one(amounts, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to));
    return one.chance(20) ? 0
                          : static_cast<long>(one.next() % static_cast<std::uint64_t>(most + 1));
  };
  Random mine(amounts, 9999, static_cast<std::uint64_t>(me));
  Data& d = *data;
  // In place, both directions between two have the same size and layout.
  const bool exchange_in_place = in_place_drawn && kind >= alltoallv;
  const Layout &out = d.layouts.of(me), &in = d.layouts.of(exchange_in_place ? 0 : me / 2);
  const int out_kind = me, in_kind = exchange_in_place ? 0 : me / 2;
  const std::uint64_t seed = mix(op.seed, static_cast<std::uint64_t>(me));
  const bool is_root = team->side == root_side && team->rank == root;
  const int said = root_argument(*team, root_side, root);
  const int other = team->inter ? 1 - team->side : 0;
  MPI_Comm comm = team->comm;
  const auto fill_both = [data, seed](int round) {
    data->out.fill(seed + static_cast<std::uint64_t>(round));
    data->in.fill(~seed);
  };
  const Take take_in = [data] { return data->in.hash(); };
  switch (kind) {
    case gatherv: {
      const int sends = d.layouts.count(out_kind, amount(me, 0));
      for (int r = 0; r < n; ++r) {
        d.in_counts.push_back(d.layouts.count(in_kind, amount(who(*team, other, r), 0)));
      }
      d.out = Buffer(out, sends, seed);
      const long span = lay_out(mine, d.in_counts, d.in_places);
      d.in = Buffer(in, is_root ? span : 0, ~seed);
      const bool in_place = in_place_drawn && is_root;
      run_collective(
          op, form, rounds, fill_both, is_root ? take_in : Take([] { return 0; }),
          FUZZ_FORMS(Gatherv, gatherv, in_place ? MPI_IN_PLACE : d.out.at, sends, out.type, d.in.at,
                     d.in_counts.data(), d.in_places.data(), in.type, said, comm));
      return;
    }
    case scatterv: {
      const int receives = d.layouts.count(in_kind, amount(0, me));
      for (int r = 0; r < n; ++r) {
        d.out_counts.push_back(d.layouts.count(out_kind, amount(0, who(*team, other, r))));
      }
      const long span = lay_out(mine, d.out_counts, d.out_places);
      d.out = Buffer(out, is_root ? span : 0, seed);
      d.in = Buffer(in, receives, ~seed);
      const bool in_place = in_place_drawn && is_root;
      run_collective(
          op, form, rounds, fill_both, take_in,
          FUZZ_FORMS(Scatterv, scatterv, d.out.at, d.out_counts.data(), d.out_places.data(),
                     out.type, in_place ? MPI_IN_PLACE : d.in.at, receives, in.type, said, comm));
      return;
    }
    case allgatherv: {
      const int sends = d.layouts.count(out_kind, amount(me, 0));
      for (int r = 0; r < n; ++r) {
        d.in_counts.push_back(d.layouts.count(in_kind, amount(who(*team, other, r), 0)));
      }
      d.out = Buffer(out, sends, seed);
      d.in = Buffer(in, lay_out(mine, d.in_counts, d.in_places), ~seed);
      run_collective(
          op, form, rounds, fill_both, take_in,
          FUZZ_FORMS(Allgatherv, allgatherv, in_place_drawn ? MPI_IN_PLACE : d.out.at, sends,
                     out.type, d.in.at, d.in_counts.data(), d.in_places.data(), in.type, comm));
      return;
    }
    default:
      break;
  }
  for (int r = 0; r < n; ++r) {
    const int them = who(*team, other, r);
    const long to =
        exchange_in_place ? amount(std::min(me, them), std::max(me, them)) : amount(me, them);
    const long from =
        exchange_in_place ? amount(std::min(me, them), std::max(me, them)) : amount(them, me);
    d.out_counts.push_back(d.layouts.count(kind == alltoallw ? r : out_kind, to));
    d.in_counts.push_back(
        d.layouts.count(kind == alltoallw && !exchange_in_place ? r + 1 : in_kind, from));
  }
  if (kind == alltoallv) {
    d.out = Buffer(out, lay_out(mine, d.out_counts, d.out_places), seed);
    d.in = Buffer(in, lay_out(mine, d.in_counts, d.in_places), ~seed);
    run_collective(op, form, rounds, fill_both, take_in,
                   FUZZ_FORMS(Alltoallv, alltoallv, exchange_in_place ? MPI_IN_PLACE : d.out.at,
                              d.out_counts.data(), d.out_places.data(), out.type, d.in.at,
                              d.in_counts.data(), d.in_places.data(), in.type, comm));
    return;
  }
  // Each part with a type and a memory of its own; displacements are bytes from the first part.
  for (int r = 0; r < n; ++r) {
    const Layout& to = d.layouts.of(r);
    const Layout& from = d.layouts.of(exchange_in_place ? 0 : r + 1);
    d.out_types.push_back(to.type);
    d.in_types.push_back(from.type);
    d.out_places.push_back(r == 0 ? 0 : d.out_places.back());
    d.in_places.push_back(r == 0 ? 0 : d.in_places.back());
  }
  const auto block_of = [](const std::vector<int>& counts, const Layouts& layouts, auto kind_of,
                           std::vector<int>& places) {
    long at = 0;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      const Layout& layout = layouts.of(kind_of(static_cast<int>(r)));
      places[r] = static_cast<int>(at - layout.true_lb);
      at += counts[r] == 0 ? 0 : (counts[r] - 1) * layout.extent + layout.true_extent;
      at = (at + 63) / 16 * 16;
    }
    return at;
  };
  const long out_bytes = block_of(
      d.out_counts, d.layouts, [](int r) { return r; }, d.out_places);
  const long in_bytes = block_of(
      d.in_counts, d.layouts, [&](int r) { return exchange_in_place ? 0 : r + 1; }, d.in_places);
  const Layout bytes(MPI_BYTE);
  d.out = Buffer(bytes, out_bytes, seed);
  d.in = Buffer(bytes, in_bytes, ~seed);
  run_collective(op, form, rounds, fill_both, take_in,
                 FUZZ_FORMS(Alltoallw, alltoallw, exchange_in_place ? MPI_IN_PLACE : d.out.at,
                            d.out_counts.data(), d.out_places.data(), d.out_types.data(), d.in.at,
                            d.in_counts.data(), d.in_places.data(), d.in_types.data(), comm));
}

}  // namespace fuzz
