#include "team.h"

#include <algorithm>
#include <numeric>

namespace fuzz {
namespace {

/// Fills in what MPI says about the communicator.
void look_at(Team& team) {
  if (team.comm == MPI_COMM_NULL) {
    return;
  }
  int inter = 0, mine = 0;
  MUST(MPI_Comm_test_inter(team.comm, &inter));
  MUST(MPI_Comm_rank(team.comm, &team.rank));
  MUST(MPI_Comm_size(team.comm, &mine));
  team.inter = inter != 0;
  if (inter != 0) {
    int theirs = 0;
    MUST(MPI_Comm_remote_size(team.comm, &theirs));
    team.sizes[team.side] = mine;
    team.sizes[1 - team.side] = theirs;
  } else {
    team.side = 0;
    team.sizes[0] = team.sizes[1] = mine;
  }
}

MPI_Group group_of(MPI_Comm comm) {
  MPI_Group group;
  MUST(MPI_Comm_group(comm, &group));
  return group;
}

/// Some of the ranks 0 to n - 1 in any order, at least one.
std::vector<int> some_of(Random& random, int n) {
  std::vector<int> ranks(static_cast<std::size_t>(n));
  std::iota(ranks.begin(), ranks.end(), 0);
  random.shuffle(ranks);
  ranks.resize(static_cast<std::size_t>(random.between((n + 1) / 2, n)));
  if (random.chance(50)) {
    std::sort(ranks.begin(), ranks.end());
  }
  return ranks;
}

bool contains(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

/// Extents of a grid of at most n ranks.
std::vector<int> grid_for(Random& random, int n) {
  std::vector<int> grid;
  const int dimensions = random.between(1, 3);
  int left = n;
  for (int i = 0; i < dimensions; ++i) {
    grid.push_back(i + 1 == dimensions && random.chance(60) ? left
                                                            : random.between(1, std::min(left, 4)));
    left /= grid.back();
  }
  random.shuffle(grid);
  return grid;
}

MPI_Comm cartesian(Random& random, const Team& parent) {
  const std::vector<int> grid = grid_for(random, parent.size());
  std::vector<int> periods(grid.size());
  for (std::size_t i = 0; i < grid.size(); ++i) {
    // Where a rank is its own neighbour twice, or has another one twice, the standard's text on
    // which block is whose is younger than the implementations.
    periods[i] = grid[i] > 2 && random.chance(50) ? 1 : 0;
  }
  MPI_Comm made;
  MUST(MPI_Cart_create(parent.comm, static_cast<int>(grid.size()), grid.data(), periods.data(), 0,
                       &made));
  return made;
}

/// Each rank draws the whole graph and takes its own edges.
MPI_Comm adjacent(Random& random, const Team& parent) {
  const int n = parent.size();
  std::vector<int> sources, destinations;
  for (int edge = random.between(0, 3 * n); edge > 0; --edge) {
    const int from = random.below(n), to = random.below(n);
    // Two edges between the same two ranks may be taken for each other.
    if (from == parent.rank && !contains(destinations, to)) {
      destinations.push_back(to);
    }
    if (to == parent.rank && !contains(sources, from)) {
      sources.push_back(from);
    }
  }
  MPI_Comm made;
  MUST(MPI_Dist_graph_create_adjacent(parent.comm, static_cast<int>(sources.size()), sources.data(),
                                      MPI_UNWEIGHTED, static_cast<int>(destinations.size()),
                                      destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                      &made));
  return made;
}

/// A ring, or a star around rank 0, with every edge in both directions.
MPI_Comm graph(Random& random, const Team& parent) {
  const int n = parent.size();
  std::vector<int> index, edges;
  const bool star = random.chance(50);
  for (int r = 0; r < n; ++r) {
    if (star && r == 0) {
      for (int other = 1; other < n; ++other) {
        edges.push_back(other);
      }
    } else if (star) {
      edges.push_back(0);
    } else if (n > 2) {
      edges.push_back((r + 1) % n);
      edges.push_back((r + n - 1) % n);
    }
    index.push_back(static_cast<int>(edges.size()));
  }
  edges.reserve(1);  // MPICH wants an address also for none
  MPI_Comm made;
  MUST(MPI_Graph_create(parent.comm, n, index.data(), edges.data(), 0, &made));
  return made;
}

/// Two parts of a communicator and a bridge between them.
MPI_Comm bridge(Random& random, const Team& parent, int* side, int index) {
  const int first = random.between(1, parent.size() - 1);
  const bool odd = random.chance(30);
  *side = odd ? parent.rank % 2 : parent.rank >= first ? 1 : 0;
  MPI_Comm part, made;
  MUST(MPI_Comm_split(parent.comm, *side, random.chance(50) ? parent.rank : -parent.rank, &part));
  int size;
  MUST(MPI_Comm_size(part, &size));
  // Leaders are given by their ranks in the part and in the parent: the lowest of the parent's.
  const int lowest[] = {0, odd ? 1 : first};
  int local = 0;
  MPI_Group parents = group_of(parent.comm), parts = group_of(part);
  MUST(MPI_Group_translate_ranks(parents, 1, &lowest[*side], parts, &local));
  MUST(MPI_Group_free(&parents));
  MUST(MPI_Group_free(&parts));
  MUST(MPI_Intercomm_create(part, local, parent.comm, lowest[1 - *side], 500 + index, &made));
  MUST(MPI_Comm_free(&part));
  return made;
}

MPI_Comm of_group(Random& random, const Team& parent, int way, int index) {
  const std::vector<int> ranks = some_of(random, parent.size());
  MPI_Group all = group_of(parent.comm), some;
  MUST(MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some));
  MPI_Comm made = MPI_COMM_NULL;
  if (way == 0) {
    MUST(MPI_Comm_create(parent.comm, some, &made));
  } else if (contains(ranks, parent.rank)) {
    if (way == 1) {
      MUST(MPI_Comm_create_group(parent.comm, some, 900 + index, &made));
    } else {
      const std::string tag = "fuzz " + std::to_string(index);
      MUST(MPI_Comm_create_from_group(some, tag.c_str(), MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                      &made));
    }
  }
  MUST(MPI_Group_free(&all));
  MUST(MPI_Group_free(&some));
  return made;
}

MPI_Comm of_intercommunicator(Random& random, const Team& parent) {
  MPI_Comm made;
  switch (random.below(3)) {
    case 0:
      MUST(MPI_Comm_dup(parent.comm, &made));
      break;
    case 1:
      MUST(MPI_Intercomm_merge(parent.comm, parent.side, &made));
      break;
    default:
      // Both sides have somebody in it.
      MUST(MPI_Comm_split(parent.comm, parent.rank == 0 || random.chance(50) ? 0 : MPI_UNDEFINED,
                          -parent.rank, &made));
      break;
  }
  return made;
}

}  // namespace

std::unique_ptr<Team> make_team(Run& run, int index) {
  Random random(run.seed, 1000003, static_cast<std::uint64_t>(index));
  auto team = std::make_unique<Team>();
  if (index == 0) {
    team->comm = MPI_COMM_WORLD;
    team->mine = false;
    look_at(*team);
    team->identity = run.seed;
    return team;
  }
  // Drawn in full by those who are not in the parent, too.
  const Team& parent =
      *run.teams[static_cast<std::size_t>(random.chance(40) ? 0 : random.below(index))];
  const int way = random.below(13);
  if (parent.comm == MPI_COMM_NULL) {
    return team;
  }
  team->side = parent.side;
  Random inside(random.next(), parent.identity);
  if (parent.inter) {
    team->comm = of_intercommunicator(inside, parent);
  } else if (way < 3) {
    const int colors = inside.between(1, 3);
    const int color = (parent.rank * inside.between(1, 5) + inside.below(7)) % (colors + 1);
    const int key = inside.chance(50) ? -parent.rank : (parent.rank * 7) % 5;
    MUST(MPI_Comm_split(parent.comm, color == colors && colors > 1 ? MPI_UNDEFINED : color, key,
                        &team->comm));
  } else if (way == 3 || parent.size() == 1) {
    team->comm = make_alike(inside, parent, index);
  } else if (way < 6) {
    team->comm = bridge(inside, parent, &team->side, index);
  } else if (way < 9) {
    team->comm = of_group(inside, parent, way - 6, index);
  } else if (way < 11) {
    team->comm = cartesian(inside, parent);
    team->topology = Team::Topology::cartesian;
  } else if (way == 11) {
    team->comm = adjacent(inside, parent);
    team->topology = Team::Topology::adjacent;
  } else {
    team->comm = graph(inside, parent);
    team->topology = Team::Topology::graph;
  }
  look_at(*team);
  if (team->comm != MPI_COMM_NULL) {
    // Parts of a split differ by their first member's rank in the world; an intercommunicator's by
    // the lower of its two.
    MPI_Group worlds = group_of(MPI_COMM_WORLD), ours = group_of(team->comm);
    int zero = 0, first = 0;
    MUST(MPI_Group_translate_ranks(ours, 1, &zero, worlds, &first));
    MUST(MPI_Group_free(&ours));
    if (team->inter) {
      MUST(MPI_Comm_remote_group(team->comm, &ours));
      int theirs = 0;
      MUST(MPI_Group_translate_ranks(ours, 1, &zero, worlds, &theirs));
      MUST(MPI_Group_free(&ours));
      first = std::min(first, theirs);
    }
    MUST(MPI_Group_free(&worlds));
    team->identity =
        mix(run.seed + static_cast<std::uint64_t>(index), static_cast<std::uint64_t>(first));
  }
  return team;
}

/// The same answer at all members, whoever sits where.
static bool is_whole(MPI_Comm part, const Team& team) {
  int size = 0;
  MUST(MPI_Comm_size(part, &size));
  int here = size == team.size() ? 1 : 0;
  int everywhere = 0;
  MUST(MPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, team.comm));
  return everywhere == 1;
}

MPI_Comm make_alike(Random& random, const Team& team, int tag) {
  MPI_Comm made = MPI_COMM_NULL;
  switch (random.below(6)) {
    case 0:
      MUST(MPI_Comm_dup(team.comm, &made));
      break;
    case 1: {
      MPI_Request request;
      MUST(MPI_Comm_idup(team.comm, &made, &request));
      MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
      break;
    }
    case 2:
      MUST(MPI_Comm_dup_with_info(team.comm, MPI_INFO_NULL, &made));
      break;
    case 3:
      MUST(MPI_Comm_split(team.comm, 0, team.rank, &made));
      break;
    case 4:
      MUST(MPI_Comm_split_type(team.comm, MPI_COMM_TYPE_SHARED, team.rank, MPI_INFO_NULL, &made));
      if (!is_whole(made, team)) {  // over several nodes
        MUST(MPI_Comm_free(&made));
        MUST(MPI_Comm_dup(team.comm, &made));
      }
      break;
    default: {
      MPI_Group all = group_of(team.comm);
      MUST(MPI_Comm_create_group(team.comm, all, 5000 + tag, &made));
      MUST(MPI_Group_free(&all));
      break;
    }
  }
  return made;
}

}  // namespace fuzz
