// Collectives back to back in random order (the same on all ranks) over several communicators,
// blocking and not, many outstanding, finished in another order on each rank, with point-to-point
// traffic and random delays in between.
#include "collective.h"

#include <memory>

using namespace check;

enum Kind { BARRIER, BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, ALLTOALL, SCAN, KINDS };

struct Operation {
  Kind kind;
  const Team* team;
  int count, root, seed;
  std::vector<int> out, in;
  MPI_Request request = MPI_REQUEST_NULL;

  static int small(int seed, int r, int i) { return element(seed + r, i) & 0xFFFF; }

  void prepare() {
    const int n = team->size;
    auto mine = pattern(count, seed + team->rank);
    switch (kind) {
      case BARRIER:
        break;
      case BCAST:
        in = team->rank == root ? pattern(count, seed) : std::vector<int>(count);
        break;
      case REDUCE:
      case ALLREDUCE:
      case SCAN:
        out.resize(count);
        for (int i = 0; i < count; ++i) out[i] = small(seed, team->rank, i);
        in.assign(count, untouched);
        break;
      case GATHER:
      case ALLGATHER:
        out = mine;
        in.assign(count * n, untouched);
        break;
      case SCATTER:
        for (int r = 0; r < n && team->rank == root; ++r) {
          auto part = pattern(count, seed + r);
          out.insert(out.end(), part.begin(), part.end());
        }
        in.assign(count, untouched);
        break;
      case ALLTOALL:
        for (int r = 0; r < n; ++r) {
          auto part = pattern(count, seed + team->rank * 100 + r);
          out.insert(out.end(), part.begin(), part.end());
        }
        in.assign(count * n, untouched);
        break;
      default:
        break;
    }
  }

  void begin(bool blocking) {
    MPI_Comm c = team->comm;
    auto *o = out.data(), *i = in.data();
    MPI_Request* q = &request;
#define BOTH(name, lower, ...)     \
  if (blocking)                    \
    MUST(MPI_##name(__VA_ARGS__)); \
  else                             \
    MUST(MPI_I##lower(__VA_ARGS__, q))
    switch (kind) {
      case BARRIER:
        BOTH(Barrier, barrier, c);
        break;
      case BCAST:
        BOTH(Bcast, bcast, i, count, MPI_INT, root, c);
        break;
      case REDUCE:
        BOTH(Reduce, reduce, o, i, count, MPI_INT, MPI_SUM, root, c);
        break;
      case ALLREDUCE:
        BOTH(Allreduce, allreduce, o, i, count, MPI_INT, MPI_SUM, c);
        break;
      case SCAN:
        BOTH(Scan, scan, o, i, count, MPI_INT, MPI_SUM, c);
        break;
      case GATHER:
        BOTH(Gather, gather, o, count, MPI_INT, i, count, MPI_INT, root, c);
        break;
      case ALLGATHER:
        BOTH(Allgather, allgather, o, count, MPI_INT, i, count, MPI_INT, c);
        break;
      case SCATTER:
        BOTH(Scatter, scatter, o, count, MPI_INT, i, count, MPI_INT, root, c);
        break;
      case ALLTOALL:
        BOTH(Alltoall, alltoall, o, count, MPI_INT, i, count, MPI_INT, c);
        break;
      default:
        break;
    }
#undef BOTH
  }

  bool right() const {
    const int n = team->size;
    switch (kind) {
      case BCAST:
        return differs(in.data(), count, seed) < 0;
      case REDUCE:
        if (team->rank != root) return true;
        [[fallthrough]];
      case ALLREDUCE:
      case SCAN:
        for (int i = 0; i < count; ++i) {
          int sum = 0;
          for (int r = 0; r < (kind == SCAN ? team->rank + 1 : n); ++r) sum += small(seed, r, i);
          if (in[i] != sum) return false;
        }
        return true;
      case GATHER:
        if (team->rank != root) return true;
        [[fallthrough]];
      case ALLGATHER:
        for (int r = 0; r < n; ++r)
          if (differs(in.data() + r * count, count, seed + r) >= 0) return false;
        return true;
      case SCATTER:
        return differs(in.data(), count, seed + team->rank) < 0;
      case ALLTOALL:
        for (int r = 0; r < n; ++r)
          if (differs(in.data() + r * count, count, seed + r * 100 + team->rank) >= 0) return false;
        return true;
      default:
        return true;
    }
  }
};

int main(int argc, char** argv) {
  start(argc, argv);
  const int operations = static_cast<int>(option("operations", 600));
  const int seed = static_cast<int>(option("seed", 1));
  auto all = teams();
  MPI_Comm copy;
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  all.emplace_back("copy", copy);
  Random shared(seed), own(seed * 1000 + rank);
  std::vector<std::unique_ptr<Operation>> open;
  static const char* const names[] = {"barrier", "bcast",     "reduce",   "allreduce", "gather",
                                      "scatter", "allgather", "alltoall", "scan"};
  auto finished = [&](const Operation& op, int number) {
    CHECK(op.right(), "operation %d: %s of %d on %s, root %d", number, names[op.kind], op.count,
          op.team->name, op.root);
  };
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (int number = 0; number < operations; ++number) {
    const auto kind = static_cast<Kind>(shared.below(KINDS));
    const auto& team = all[shared.below(static_cast<int>(all.size()))];
    const int sizes[] = {0, 1, 2, 5, 64, 300, 1024, 3000, 16000};
    int count = sizes[shared.below(shared.chance(90) ? 7 : 9)];
    const int pick = shared.below(1 << 20), operation_seed = shared.below(1 << 20);
    const bool blocking = shared.chance(40), talk = shared.chance(20);
    const int delay = own.below(100);
    if (delay < 5) compute_ms(1 + own.below(3));
    if (delay >= 5 && delay < 8) sleep_ms(1);
    if (talk) {  // point-to-point with the same ranks in between
      int out = number * 100 + rank, in = -1;
      MUST(MPI_Sendrecv(&out, 1, MPI_INT, to, 0, &in, 1, MPI_INT, from, 0, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
      CHECK(in == number * 100 + from);
    }
    if (team.comm == MPI_COMM_NULL) continue;
    auto op = std::make_unique<Operation>();
    op->kind = kind;
    op->team = &team;
    op->count = count;
    op->root = pick % team.size;
    op->seed = operation_seed;
    op->prepare();
    op->begin(blocking);
    if (blocking) {
      finished(*op, number);
      continue;
    }
    open.push_back(std::move(op));
    // Each rank finishes what it likes, when it likes; never more than 40 open.
    while (!open.empty() && (open.size() > 40 || own.chance(20))) {
      const int k = own.below(static_cast<int>(open.size()));
      if (open.size() > 40 || own.chance(50)) {
        MUST(MPI_Wait(&open[k]->request, MPI_STATUS_IGNORE));
      } else {
        int flag = 0;
        MUST(MPI_Test(&open[k]->request, &flag, MPI_STATUS_IGNORE));
        if (!flag) break;
      }
      finished(*open[k], number);
      open.erase(open.begin() + k);
    }
  }
  std::vector<MPI_Request> rest;
  for (auto& op : open) rest.push_back(op->request);
  MUST(MPI_Waitall(static_cast<int>(rest.size()), rest.data(), MPI_STATUSES_IGNORE));
  for (auto& op : open) finished(*op, -1);
  free_teams(all);
  return finish();
}
