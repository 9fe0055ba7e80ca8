// Gatherv, Scatterv, Alltoallv and Alltoallw in all forms, one after the other and many at once on
// several communicators: lengths from none to some ten thousand bytes side by side, none at all,
// only long ones; all roots, in place, elements with gaps at some ranks only, blocks in reverse
// order with gaps between them. Over several nodes short blocks go together, long ones alone.
#include <memory>

#include "collective.h"

using namespace check;

enum class Way { blocking, nonblocking, persistent };

// BEGIN(Gatherv, gatherv, arguments), in a function that has `way` and `request`.
#define BEGIN(name, lower, ...)                                       \
  MUST(way == Way::blocking      ? MPI_##name(__VA_ARGS__)            \
       : way == Way::nonblocking ? MPI_I##lower(__VA_ARGS__, request) \
                                 : MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, request))

// How long the block from one rank to another is: in a row of lengths, or always the same. In place
// both directions are alike.
struct Lengths {
  int salt;
  bool in_place;
  int operator()(int from, int to) const {
    constexpr int row[] = {0, 1, 3, 511, 512, 513, 0, 1023, 1024, 1025, 3000, 0, 3073, 9000};
    if (salt < 0) return salt == -1 ? 0 : 9000;
    const int place = in_place ? from * to + from + to : from * 5 + to * 3;
    return row[(place + salt) % 14];
  }
};

static int seed(int from, int to, int round) {
  return from * 1000 + to * 17 + round;
}

// Blocks of ints, of which some, or all, are `step` apart.
struct Side {
  std::vector<int> counts, places, bytes, steps;
  std::vector<MPI_Datatype> types;
  std::vector<int> memory;
  Side(const std::vector<int>& lengths, const Sparse& sparse, bool some, bool all)
      : counts(lengths), places(counts.size()), bytes(counts.size()) {
    int end = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      const bool is_sparse = all || (some && i % 2 == 1);
      steps.push_back(is_sparse ? sparse.step : 1);
      types.push_back(is_sparse ? sparse.type : MPI_INT);
    }
    for (size_t i = counts.size(); i-- > 0;) {
      bytes[i] = end * int(sizeof(int));
      places[i] = end / (all ? sparse.step : 1);
      end += (counts[i] + 1) * steps[i];
    }
    memory.resize(size_t(end) + 1);
  }
  void clear() { std::fill(memory.begin(), memory.end(), untouched); }
  int* block(int i) { return memory.data() + bytes[i] / int(sizeof(int)); }
  void put(int i, int seed) {
    for (int k = 0; k < counts[i]; ++k) block(i)[k * steps[i]] = element(seed, k);
  }
  int wrong(int i, int seed) {
    int result = 0;
    for (int k = 0; k < counts[i] * steps[i]; ++k)
      result += block(i)[k] != (k % steps[i] ? untouched : element(seed, k / steps[i]));
    return result + (block(i)[counts[i] * steps[i]] != untouched);
  }
};

// One collective, and how one sees that it is right. `round` makes the values differ.
struct Work {
  virtual ~Work() = default;
  virtual void give(int round) = 0;
  virtual void begin(Way way, MPI_Request* request) = 0;
  virtual void look(int round) = 0;
};

static std::vector<int> lengths_of(const Team& team, const Lengths& length, int root, bool out) {
  std::vector<int> result(team.size);
  for (int r = 0; r < team.size; ++r) result[r] = out ? length(root, r) : length(r, root);
  return result;
}

// A gatherv to the root; or from there a scatterv, which is its reverse.
struct Rooted : Work {
  Rooted(const Team& team, const Sparse& sparse, Lengths length, int root, bool scatters)
      : team(team),
        root(root),
        scatters(scatters),
        in_place(length.in_place),
        all(lengths_of(team, length, root, scatters), sparse, false, (root + scatters) % 2),
        own({all.counts[team.rank]}, sparse, false, (team.rank + root) % 3 == 1) {}
  bool is_root() const { return team.rank == root; }
  bool stays() const { return is_root() && in_place; }
  int key(int r, int round) const { return scatters ? seed(root, r, round) : seed(r, root, round); }

  void give(int round) override {
    all.clear();
    own.clear();
    if (!scatters) (stays() ? all : own).put(stays() ? root : 0, key(team.rank, round));
    for (int r = 0; scatters && is_root() && r < team.size; ++r) all.put(r, key(r, round));
  }
  void begin(Way way, MPI_Request* request) override {
    void* const mine = stays() ? MPI_IN_PLACE : own.memory.data();
    void* const blocks = is_root() ? all.memory.data() : nullptr;
    const int* const counts = is_root() ? all.counts.data() : nullptr;
    const int* const places = is_root() ? all.places.data() : nullptr;
    if (scatters)
      BEGIN(Scatterv, scatterv, blocks, counts, places, all.types[0], mine, own.counts[0],
            own.types[0], root, team.comm);
    else
      BEGIN(Gatherv, gatherv, mine, own.counts[0], own.types[0], blocks, counts, places,
            all.types[0], root, team.comm);
  }
  void look(int round) override {
    if (scatters)
      CHECK(stays() || own.wrong(0, key(team.rank, round)) == 0, "scatterv of %d from %d on %s",
            own.counts[0], root, team.name);
    for (int r = 0; !scatters && is_root() && r < team.size; ++r)
      CHECK(all.wrong(r, key(r, round)) == 0, "gatherv of %d from %d to %d on %s", all.counts[r], r,
            root, team.name);
  }

  const Team team;
  const int root;
  const bool scatters, in_place;
  Side all, own;
};

struct ToAll : Work {
  // With types of their own: every other block is sparse.
  ToAll(const Team& team, const Sparse& sparse, Lengths length, int shift, bool with_types)
      : team(team),
        in_place(length.in_place),
        with_types(with_types),
        out(lengths_of(team, length, team.rank, true), sparse, with_types,
            !with_types && (team.rank + shift) % 3 == 1),
        in(lengths_of(team, length, team.rank, false), sparse, with_types,
           !with_types && (team.rank + shift) % 2 == 1) {}

  void give(int round) override {
    out.clear();
    in.clear();
    for (int r = 0; r < team.size; ++r) (in_place ? in : out).put(r, seed(team.rank, r, round));
  }
  void begin(Way way, MPI_Request* request) override {
    const void* const from = in_place ? MPI_IN_PLACE : out.memory.data();
    if (with_types)
      BEGIN(Alltoallw, alltoallw, from, out.counts.data(), out.bytes.data(), out.types.data(),
            in.memory.data(), in.counts.data(), in.bytes.data(), in.types.data(), team.comm);
    else
      BEGIN(Alltoallv, alltoallv, from, out.counts.data(), out.places.data(), out.types[0],
            in.memory.data(), in.counts.data(), in.places.data(), in.types[0], team.comm);
  }
  void look(int round) override {
    for (int r = 0; r < team.size; ++r)
      CHECK(in.wrong(r, seed(r, team.rank, round)) == 0, "alltoall%c of %d from %d on %s",
            with_types ? 'w' : 'v', in.counts[r], r, team.name);
  }

  const Team team;
  const bool in_place, with_types;
  Side out, in;
};

using Works = std::vector<std::unique_ptr<Work>>;

static void add_works(Works& works, const Team& team, const Sparse& sparse, Lengths length,
                      int root) {
  for (bool scatters : {false, true})
    works.push_back(std::make_unique<Rooted>(team, sparse, length, root, scatters));
  for (bool with_types : {false, true})
    works.push_back(std::make_unique<ToAll>(team, sparse, length, root, with_types));
}

static void run_one_by_one(Works& works, int round) {
  for (auto& work : works) {
    work->give(round);
    work->begin(Way::blocking, nullptr);
    work->look(round);
  }
}

// Some ranks come late, and each waits in an order of its own.
static void run_at_once(Works& works, Way way, int rounds) {
  std::vector<MPI_Request> requests(works.size(), MPI_REQUEST_NULL);
  if (way == Way::persistent)
    for (size_t i = 0; i < works.size(); ++i) works[i]->begin(way, &requests[i]);
  for (int round = 0; round < rounds; ++round) {
    for (auto& work : works) work->give(round);
    if ((round + rank) % 3 == 0) compute_ms(1);
    for (size_t i = 0; i < works.size(); ++i)
      if (way == Way::persistent)
        MUST(MPI_Start(&requests[i]));
      else
        works[i]->begin(way, &requests[i]);
    for (size_t i = 0; rank % 2 == 1 && i < works.size(); ++i)
      MUST(MPI_Wait(&requests[works.size() - 1 - i], MPI_STATUS_IGNORE));
    MUST(MPI_Waitall(int(works.size()), requests.data(), MPI_STATUSES_IGNORE));
    for (auto& work : works) work->look(round);
  }
  for (auto& request : requests)
    if (request != MPI_REQUEST_NULL) MUST(MPI_Request_free(&request));
}

int main(int argc, char** argv) {
  start(argc, argv);
  auto all = teams();
  {
    const Sparse sparse{3};
    for (bool in_place : {false, true})
      for (int salt : {0, 5, 9, -1, -2}) {
        Works together;
        for (auto& team : all) {
          if (team.comm == MPI_COMM_NULL) continue;
          for (int root = 0; root < team.size; ++root) {
            Works works;
            add_works(works, team, sparse, {salt, in_place}, root);
            run_one_by_one(works, root);
          }
          add_works(together, team, sparse, {salt, in_place}, (salt + 2) % team.size);
        }
        run_at_once(together, Way::nonblocking, 2);
        run_at_once(together, Way::persistent, 3);
      }
  }
  free_teams(all);
  return finish();
}
