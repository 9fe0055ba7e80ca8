// Many collectives under way at once, non-blocking and persistent, on several communicators: roots
// in turn, in place, elements with gaps at some ranks only, none at all, operations that do not
// commute; the ranks wait for them in different orders, and some come late. Whatever ranks do for
// each other on the way they do while they wait for something else.
#include <functional>
#include <memory>

#include "collective.h"

using namespace check;

// What is started, and how one sees that it is right. `round` makes the values differ.
struct Work {
  std::string name;
  std::function<void(int round)> give;
  std::function<void(bool persistent, MPI_Request*)> start;
  std::function<void(int round)> look;
};

// BEGIN(Bcast, bcast, arguments): MPI_Ibcast, or MPI_Bcast_init, in a lambda that has `persistent`
// and `request`.
#define BEGIN(name, lower, ...)                                        \
  (persistent ? MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, request) \
              : MPI_I##lower(__VA_ARGS__, request))

// Functions x -> a x + b (mod a prime), of which `in` is applied last: associative, not
// commutative.
struct Function {
  int a, b;
};
constexpr long prime = 30011;
static void compose(void* in, void* inout, int* length, MPI_Datatype*) {
  auto *f = static_cast<Function*>(in), *g = static_cast<Function*>(inout);
  for (int i = 0; i < *length; ++i)
    g[i] = {int(long(f[i].a) * g[i].a % prime), int((long(f[i].a) * g[i].b + f[i].b) % prime)};
}
// Not associative: the bits tell in which order.
static void halve(void* in, void* inout, int* length, MPI_Datatype*) {
  auto *a = static_cast<double*>(in), *b = static_cast<double*>(inout);
  for (int i = 0; i < *length; ++i) b[i] = a[i] * 0.5 + b[i] * 0.5;
}

// Of a reduction.
struct Halves {
  using Element = double;
  static double given(int rank, int index, int round) {
    return 1.0 / (1 + rank * 3 + index % 1009 + round);
  }
  static double joined(double a, double b) { return a * 0.5 + b * 0.5; }
  // Another library may join in another order.
  static bool same(double value, double expected) {
    static const bool theirs = on_mpich();
    return theirs ? value > 0 && value <= 1 : value == expected;
  }
};
struct Functions {
  using Element = Function;
  static Function given(int rank, int index, int round) {
    return {1 + (rank * 7 + index + round) % 11, (rank * 31 + index * 3 + round) % 101};
  }
  static Function joined(Function a, Function b) {
    int one = 1;
    compose(&a, &b, &one, nullptr);
    return b;
  }
  static bool same(Function a, Function b) { return a.a == b.a && a.b == b.b; }
};

struct Types {
  Sparse sparse{3};
  MPI_Datatype functions;
  MPI_Op compose_op, halve_op;
  Types() {
    MUST(MPI_Type_contiguous(2, MPI_INT, &functions));
    MUST(MPI_Type_commit(&functions));
    MUST(MPI_Op_create(compose, 0, &compose_op));
    MUST(MPI_Op_create(halve, 0, &halve_op));
  }
  ~Types() {
    MPI_Type_free(&functions);
    MPI_Op_free(&compose_op);
    MPI_Op_free(&halve_op);
  }
};

template <class Kind>
static Work reduction(const Team& team, MPI_Datatype type, MPI_Op op, int count, int root,
                      bool in_place) {
  using Element = typename Kind::Element;
  auto out = std::make_shared<std::vector<Element>>(count + 1);
  auto in = std::make_shared<std::vector<Element>>(count + 1);
  const bool to_all = root < 0, gets = to_all || root == team.rank, here = in_place && gets;
  const MPI_Comm comm = team.comm;
  return {to_all ? "allreduce" : "reduce",
          [=](int round) {
            for (int i = 0; i < count; ++i)
              (here ? *in : *out)[i] = Kind::given(team.rank, i, round);
          },
          [=](bool persistent, MPI_Request* request) {
            const void* from = here ? MPI_IN_PLACE : out->data();
            if (to_all)
              MUST(BEGIN(Allreduce, allreduce, from, in->data(), count, type, op, comm));
            else
              MUST(BEGIN(Reduce, reduce, from, gets ? in->data() : nullptr, count, type, op, root,
                         comm));
          },
          [=](int round) {
            int wrong = 0;
            for (int i = 0; gets && i < count; ++i) {
              Element expected = Kind::given(team.size - 1, i, round);
              for (int r = team.size - 2; r >= 0; --r)
                expected = Kind::joined(Kind::given(r, i, round), expected);
              wrong += !Kind::same((*in)[i], expected);
            }
            CHECK(wrong == 0, "%s of %d to %d on %s: %d wrong", to_all ? "allreduce" : "reduce",
                  count, root, team.name, wrong);
          }};
}

// Ints in a buffer, dense or sparse, as the datatype that goes with them says.
struct Ints {
  Ints(int elements, const Sparse* sparse)
      : step(sparse ? sparse->step : 1),
        type(sparse ? sparse->type : MPI_INT),
        memory(size_t(elements) * step + 1, untouched) {}
  void clear() { std::fill(memory.begin(), memory.end(), untouched); }
  void put(int first, int count, int seed) {
    for (int i = 0; i < count; ++i) memory[size_t(first + i) * step] = element(seed, i);
  }
  int wrong(int first, int count, int seed) const {
    int result = 0;
    for (int i = 0; i < count; ++i) {
      result += memory[size_t(first + i) * step] != element(seed, i);
      if (step > 1) result += memory[size_t(first + i) * step + 1] != untouched;
    }
    return result;
  }
  int* data() { return memory.data(); }
  int step;
  MPI_Datatype type;
  std::vector<int> memory;
};

static int seed(int from, int to, int round) {
  return from * 1000 + to * 17 + round;
}

static std::vector<Work> works_of(const Team& team, const Types& types, int count, int root,
                                  bool in_place) {
  std::vector<Work> works;
  const int n = team.size, me = team.rank;
  const MPI_Comm comm = team.comm;
  const bool is_root = me == root;
  const std::string where = std::string(" on ") + team.name;
  const char* const name = team.name;
  const auto ints = [&](int elements) {
    return std::make_shared<Ints>(elements, (me + root) % 3 == 1 ? &types.sparse : nullptr);
  };
  works.push_back({"barrier" + where, [](int) {},
                   [=](bool persistent, MPI_Request* request) {
                     MUST(persistent ? MPI_Barrier_init(comm, MPI_INFO_NULL, request)
                                     : MPI_Ibarrier(comm, request));
                   },
                   [](int) {}});
  {
    auto data = ints(count);
    works.push_back({"bcast" + where,
                     [=](int round) {
                       data->clear();
                       if (is_root) data->put(0, count, seed(root, 0, round));
                     },
                     [=](bool persistent, MPI_Request* request) {
                       MUST(BEGIN(Bcast, bcast, data->data(), count, data->type, root, comm));
                     },
                     [=](int round) {
                       CHECK(data->wrong(0, count, seed(root, 0, round)) == 0, "%d from %d on %s",
                             count, root, name);
                     }});
  }
  {
    auto mine = ints(count), all = ints(is_root ? count * n : 0);
    const bool stays = in_place && is_root;
    works.push_back(
        {"gather" + where,
         [=](int round) {
           all->clear();
           (stays ? all : mine)->put(stays ? me * count : 0, count, seed(me, root, round));
         },
         [=](bool persistent, MPI_Request* request) {
           MUST(BEGIN(Gather, gather, stays ? MPI_IN_PLACE : mine->data(), count, mine->type,
                      all->data(), count, all->type, root, comm));
         },
         [=](int round) {
           for (int r = 0; is_root && r < n; ++r)
             CHECK(all->wrong(r * count, count, seed(r, root, round)) == 0,
                   "gather of %d from %d to %d on %s", count, r, root, name);
         }});
    auto got = ints(count), given = ints(is_root ? count * n : 0);
    works.push_back({"scatter" + where,
                     [=](int round) {
                       got->clear();
                       for (int r = 0; is_root && r < n; ++r)
                         given->put(r * count, count, seed(root, r, round));
                     },
                     [=](bool persistent, MPI_Request* request) {
                       MUST(BEGIN(Scatter, scatter, given->data(), count, given->type,
                                  stays ? MPI_IN_PLACE : got->data(), count, got->type, root,
                                  comm));
                     },
                     [=](int round) {
                       CHECK(stays || got->wrong(0, count, seed(root, me, round)) == 0,
                             "scatter of %d from %d on %s", count, root, name);
                     }});
  }
  {
    auto mine = ints(count), all = ints(count * n);
    works.push_back(
        {"allgather" + where,
         [=](int round) {
           all->clear();
           (in_place ? all : mine)->put(in_place ? me * count : 0, count, seed(me, 5, round));
         },
         [=](bool persistent, MPI_Request* request) {
           MUST(BEGIN(Allgather, allgather, in_place ? MPI_IN_PLACE : mine->data(), count,
                      mine->type, all->data(), count, all->type, comm));
         },
         [=](int round) {
           for (int r = 0; r < n; ++r)
             CHECK(all->wrong(r * count, count, seed(r, 5, round)) == 0,
                   "allgather of %d from %d on %s", count, r, name);
         }});
  }
  {
    // Blocks from the last rank's to the first's, with gaps.
    auto counts = std::make_shared<std::vector<int>>(n), at = std::make_shared<std::vector<int>>(n);
    int total = 0;
    for (int r = n - 1; r >= 0; --r) {
      (*counts)[r] = count == 0 ? 0 : (count + r * 5) % (count + 3);
      (*at)[r] = total;
      total += (*counts)[r] + 1;
    }
    auto mine = ints((*counts)[me]), all = ints(total);
    works.push_back({"allgatherv" + where,
                     [=](int round) {
                       all->clear();
                       (in_place ? all : mine)
                           ->put(in_place ? (*at)[me] : 0, (*counts)[me], seed(me, 6, round));
                     },
                     [=](bool persistent, MPI_Request* request) {
                       MUST(BEGIN(Allgatherv, allgatherv, in_place ? MPI_IN_PLACE : mine->data(),
                                  (*counts)[me], mine->type, all->data(), counts->data(),
                                  at->data(), all->type, comm));
                     },
                     [=](int round) {
                       for (int r = 0; r < n; ++r)
                         CHECK(all->wrong((*at)[r], (*counts)[r], seed(r, 6, round)) == 0,
                               "allgatherv of %d from %d on %s", (*counts)[r], r, name);
                     }});
  }
  {
    auto out = ints(count * n), in = ints(count * n);
    works.push_back({"alltoall" + where,
                     [=](int round) {
                       in->clear();
                       for (int r = 0; r < n; ++r)
                         (in_place ? in : out)->put(r * count, count, seed(me, r, round));
                     },
                     [=](bool persistent, MPI_Request* request) {
                       MUST(BEGIN(Alltoall, alltoall, in_place ? MPI_IN_PLACE : out->data(), count,
                                  out->type, in->data(), count, in->type, comm));
                     },
                     [=](int round) {
                       for (int r = 0; r < n; ++r)
                         CHECK(in->wrong(r * count, count, seed(r, me, round)) == 0,
                               "alltoall of %d from %d on %s", count, r, name);
                     }});
  }
  works.push_back(
      reduction<Functions>(team, types.functions, types.compose_op, count, root, in_place));
  works.push_back(
      reduction<Functions>(team, types.functions, types.compose_op, count, -1, in_place));
  works.push_back(reduction<Halves>(team, MPI_DOUBLE, types.halve_op, count, root, in_place));
  works.push_back(reduction<Halves>(team, MPI_DOUBLE, types.halve_op, count, -1, in_place));
  return works;
}

static void wait_for(std::vector<MPI_Request>& requests, int order) {
  const int count = int(requests.size());
  switch (order % 4) {
    case 0:
      MUST(MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE));
      break;
    case 1:
      for (int i = count; i-- > 0;) MUST(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
      break;
    case 2:
      for (int done = 0; done < count; ++done) {
        int index;
        MUST(MPI_Waitany(count, requests.data(), &index, MPI_STATUS_IGNORE));
      }
      break;
    case 3:
      for (int i = 0; i < count; ++i) {
        int flag = 0, other = (i + 7) % count;
        MUST(MPI_Test(&requests[other], &flag, MPI_STATUS_IGNORE));
        MUST(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
      }
  }
}

static void run(std::vector<Work>& works, bool persistent, int rounds, int& order) {
  std::vector<MPI_Request> requests(works.size(), MPI_REQUEST_NULL);
  if (persistent)
    for (size_t i = 0; i < works.size(); ++i) works[i].start(true, &requests[i]);
  for (int round = 0; round < rounds; ++round) {
    for (auto& work : works) work.give(round);
    if ((round + rank) % 3 == 0) compute_ms(1);
    for (size_t i = 0; i < works.size(); ++i) {
      if (persistent)
        MUST(MPI_Start(&requests[i]));
      else
        works[i].start(false, &requests[i]);
    }
    wait_for(requests, order++ + rank);
    for (auto& work : works) work.look(round);
  }
  if (persistent)
    for (auto& request : requests) MUST(MPI_Request_free(&request));
}

int main(int argc, char** argv) {
  start(argc, argv);
  auto all = teams();
  {
    const Types types;
    int order = 0;
    for (int count : {0, 1, 60, 1000, 2500}) {
      if (size > 7 && count % 60 != 0) continue;
      for (bool in_place : {false, true}) {
        std::vector<Work> works;
        for (auto& team : all)
          if (team.comm != MPI_COMM_NULL)
            for (auto& work :
                 works_of(team, types, count, (count + in_place) % team.size, in_place))
              works.push_back(std::move(work));
        run(works, false, 2, order);
        run(works, true, 3, order);
      }
    }
  }
  free_teams(all);
  return finish();
}
