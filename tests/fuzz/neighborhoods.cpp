// Collectives between neighbours of a grid or a graph.
#include <algorithm>

#include "collective.h"
#include "layout.h"
#include "team.h"

namespace fuzz {
namespace {

/// From whom and to whom a rank's blocks go, in the standard's order.
void neighbors(const Team& team, std::vector<int>& sources, std::vector<int>& destinations) {
  switch (team.topology) {
    case Team::Topology::cartesian: {
      int dimensions = 0;
      MUST(MPI_Cartdim_get(team.comm, &dimensions));
      for (int i = 0; i < dimensions; ++i) {
        int before = 0, behind = 0;
        MUST(MPI_Cart_shift(team.comm, i, 1, &before, &behind));
        sources.insert(sources.end(), {before, behind});
      }
      destinations = sources;
      break;
    }
    case Team::Topology::adjacent: {
      int in = 0, out = 0, weighted = 0;
      MUST(MPI_Dist_graph_neighbors_count(team.comm, &in, &out, &weighted));
      sources.resize(static_cast<std::size_t>(in));
      destinations.resize(static_cast<std::size_t>(out));
      MUST(MPI_Dist_graph_neighbors(team.comm, in, sources.data(), MPI_UNWEIGHTED, out,
                                    destinations.data(), MPI_UNWEIGHTED));
      break;
    }
    default: {
      int count = 0;
      MUST(MPI_Graph_neighbors_count(team.comm, team.rank, &count));
      sources.resize(static_cast<std::size_t>(count));
      MUST(MPI_Graph_neighbors(team.comm, team.rank, count, sources.data()));
      destinations = sources;
      break;
    }
  }
}

}  // namespace

void neighborhood(Operation& op) {
  Random& random = op.random;
  const Team* team = collective_team(op, false);
  if (team == nullptr || team->topology == Team::Topology::none) {
    return;
  }
  enum { allgather, allgatherv, alltoall, alltoallv, alltoallw, kinds };
  const int kind = random.below(kinds), form = random.below(3), rounds = random.between(1, 2);
  struct Data {
    explicit Data(Layouts made) : layouts(std::move(made)) {}
    Layouts layouts;
    Buffer out, in;
    std::vector<int> out_counts, in_counts, out_places, in_places;
    std::vector<MPI_Aint> out_bytes, in_bytes;
    std::vector<MPI_Datatype> out_types, in_types;
  };
  auto data = std::make_shared<Data>(Layouts(random, 2, random.between(1, 8)));
  Data& d = *data;
  const long most = d.layouts.times_of(message_bytes(random, op.run.limit) / 6);
  const std::uint64_t amounts = random.next();
  std::vector<int> sources, destinations;
  neighbors(*team, sources, destinations);
  const int me = team->rank;
  const auto amount = [&](int from, int to) {
    Random one(amounts, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to));
    return from < 0 || to == MPI_PROC_NULL
               ? 0
               : static_cast<long>(one.below(static_cast<int>(most) + 1));
  };
  const Layout &out = d.layouts.of(me), &in = d.layouts.of(me + 1);
  const bool varies = kind == allgatherv || kind >= alltoallv;
  const bool to_each = kind >= alltoall;
  long at = 0;
  const std::size_t out_parts = to_each ? destinations.size() : 1;
  for (std::size_t i = 0; i < out_parts; ++i) {
    const int to = to_each ? destinations[i] : 0;
    d.out_counts.push_back(d.layouts.count(me, varies ? amount(me, to_each ? to : 0) : most));
    d.out_places.push_back(static_cast<int>(at));
    d.out_bytes.push_back(at * out.extent);
    d.out_types.push_back(out.type);
    at += d.out_counts.back() + random.below(2);
  }
  const std::uint64_t seed = mix(op.seed, static_cast<std::uint64_t>(me));
  d.out = Buffer(out, varies ? at : static_cast<long>(out_parts) * d.layouts.count(me, most), seed);
  at = 0;
  for (const int from : sources) {
    const long times = varies ? amount(from, to_each ? me : 0) : most;
    d.in_counts.push_back(d.layouts.count(me + 1, times));
    d.in_places.push_back(static_cast<int>(at));
    d.in_bytes.push_back(at * in.extent);
    d.in_types.push_back(in.type);
    at += d.in_counts.back() + me % 2;
  }
  const int receives = d.layouts.count(me + 1, most);
  d.in = Buffer(in, varies ? at : static_cast<long>(sources.size()) * receives, ~seed);
  const auto fill = [data, seed](int round) {
    data->out.fill(seed + static_cast<std::uint64_t>(round));
    data->in.fill(~seed);
  };
  const Take take = [data] { return data->in.hash(); };
  const int sends = d.layouts.count(me, kind == allgatherv ? amount(me, 0) : most);
  MPI_Comm comm = team->comm;
  switch (kind) {
    case allgather:
      return run_collective(op, form, rounds, fill, take,
                            FUZZ_FORMS(Neighbor_allgather, neighbor_allgather, d.out.at, sends,
                                       out.type, d.in.at, receives, in.type, comm));
    case allgatherv:
      return run_collective(
          op, form, rounds, fill, take,
          FUZZ_FORMS(Neighbor_allgatherv, neighbor_allgatherv, d.out.at, sends, out.type, d.in.at,
                     d.in_counts.data(), d.in_places.data(), in.type, comm));
    case alltoall:
      return run_collective(op, form, rounds, fill, take,
                            FUZZ_FORMS(Neighbor_alltoall, neighbor_alltoall, d.out.at, sends,
                                       out.type, d.in.at, receives, in.type, comm));
    case alltoallv:
      return run_collective(op, form, rounds, fill, take,
                            FUZZ_FORMS(Neighbor_alltoallv, neighbor_alltoallv, d.out.at,
                                       d.out_counts.data(), d.out_places.data(), out.type, d.in.at,
                                       d.in_counts.data(), d.in_places.data(), in.type, comm));
    default:
      return run_collective(
          op, form, rounds, fill, take,
          FUZZ_FORMS(Neighbor_alltoallw, neighbor_alltoallw, d.out.at, d.out_counts.data(),
                     d.out_bytes.data(), d.out_types.data(), d.in.at, d.in_counts.data(),
                     d.in_bytes.data(), d.in_types.data(), comm));
  }
}

}  // namespace fuzz
