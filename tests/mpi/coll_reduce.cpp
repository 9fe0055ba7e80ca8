// Reduce, Allreduce, Reduce_scatter, Reduce_scatter_block, Scan, Exscan and their I-forms with
// integer sums and with a user's non-commutative op (2×2 matrices modulo 2^32: associative, exact):
// sizes to 1 MiB and zero, all roots, in place, four communicators.
#include "collective.h"

#include <algorithm>
#include <array>

using namespace check;

using Matrix = std::array<unsigned, 4>;

static Matrix times(const Matrix& a, const Matrix& b) {
  return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
          a[2] * b[1] + a[3] * b[3]};
}

static void multiply(void* in, void* inout, int* length, MPI_Datatype*) {
  auto* a = static_cast<Matrix*>(in);
  auto* b = static_cast<Matrix*>(inout);
  for (int i = 0; i < *length; ++i) b[i] = times(a[i], b[i]);  // in is the lower rank's
}

static MPI_Datatype matrix_type;
static MPI_Op matrix_op;

static Matrix matrix_of(int rank_, int i) {
  return {static_cast<unsigned>(rank_ + 2), static_cast<unsigned>(i % 1000 + 1), 1u,
          static_cast<unsigned>(rank_ * 3 + i % 17)};
}

// Sums and products over ranks first…last of element i, computed here.
struct Sum {
  using Element = int;
  static const char* name() { return "sum"; }
  static MPI_Datatype type() { return MPI_INT; }
  static MPI_Op op() { return MPI_SUM; }
  static int of(int rank_, int i) { return (rank_ + 1) * (i % 1000) + rank_; }
  static int expected(int first, int last, int i) {
    int sum = 0;
    for (int r = first; r <= last; ++r) sum += of(r, i);
    return sum;
  }
  static int nothing() { return untouched; }
};

struct Product {
  using Element = Matrix;
  static const char* name() { return "matrices"; }
  static MPI_Datatype type() { return matrix_type; }
  static MPI_Op op() { return matrix_op; }
  static Matrix of(int rank_, int i) { return matrix_of(rank_, i); }
  static Matrix expected(int first, int last, int i) {
    Matrix product = of(first, i);
    for (int r = first + 1; r <= last; ++r) product = times(product, of(r, i));
    return product;
  }
  static Matrix nothing() { return {7, 7, 7, 7}; }
};

template <class Case>
struct Reductions {
  using Element = typename Case::Element;
  const Team& team;
  Form form;
  int count;
  std::vector<Element> mine;

  Reductions(const Team& t, Form f, int c) : team(t), form(f), count(c) {
    for (int i = 0; i < count; ++i) mine.push_back(Case::of(team.rank, i));
  }

  void judge(const std::vector<Element>& result, int first, int last, int from, int n,
             const char* what) {
    // Large ones are sampled: the expected values cost more than the reduction.
    for (int i = 0; i<n; i += n> 5000 ? 97 : 1)
      if (result[i] != Case::expected(first, last, from + i)) {
        CHECK(false, "%s %s %s %s: %d elements: element %d wrong", what, Case::name(), team.name,
              name_of(form), count, i);
        break;
      }
    CHECK(result[n] == Case::nothing(), "%s: written beyond %d", what, n);
  }

  std::vector<Element> room(bool in_place, int n) {
    auto result = in_place ? mine : std::vector<Element>(n, Case::nothing());
    result.push_back(Case::nothing());
    return result;
  }

  void reduce(int root, bool in_place) {
    const bool is_root = team.rank == root;
    auto result = room(in_place && is_root, count);
    CALL(form, Reduce, reduce, in_place && is_root ? MPI_IN_PLACE : mine.data(),
         is_root ? result.data() : nullptr, count, Case::type(), Case::op(), root, team.comm);
    if (is_root) judge(result, 0, team.size - 1, 0, count, "reduce");
  }

  void allreduce(bool in_place) {
    auto result = room(in_place, count);
    CALL(form, Allreduce, allreduce, in_place ? MPI_IN_PLACE : mine.data(), result.data(), count,
         Case::type(), Case::op(), team.comm);
    judge(result, 0, team.size - 1, 0, count, "allreduce");
  }

  void scan(bool in_place) {
    auto result = room(in_place, count);
    CALL(form, Scan, scan, in_place ? MPI_IN_PLACE : mine.data(), result.data(), count,
         Case::type(), Case::op(), team.comm);
    judge(result, 0, team.rank, 0, count, "scan");
  }

  void exscan(bool in_place) {
    auto result = room(in_place, count);
    CALL(form, Exscan, exscan, in_place ? MPI_IN_PLACE : mine.data(), result.data(), count,
         Case::type(), Case::op(), team.comm);
    if (team.rank) judge(result, 0, team.rank - 1, 0, count, "exscan");
  }

  void reduce_scatter_block(bool in_place) {
    const int block = count / team.size;
    auto result = in_place ? mine : std::vector<Element>(block, Case::nothing());
    if (in_place && static_cast<int>(result.size()) < block) return;
    result.push_back(Case::nothing());
    CALL(form, Reduce_scatter_block, reduce_scatter_block, in_place ? MPI_IN_PLACE : mine.data(),
         result.data(), block, Case::type(), Case::op(), team.comm);
    if (!in_place) {
      judge(result, 0, team.size - 1, team.rank * block, block, "reduce_scatter_block");
    } else {
      result.resize(block);
      result.push_back(Case::nothing());
      judge(result, 0, team.size - 1, team.rank * block, block, "reduce_scatter_block in place");
    }
  }

  void reduce_scatter(bool in_place) {
    std::vector<int> counts(team.size);
    int at = 0, left = count;
    for (int r = 0; r < team.size; ++r) {  // uneven, some zero
      counts[r] = r == team.size - 1 ? left : std::min(left, r % 3 * (count / team.size));
      left -= counts[r];
      if (r < team.rank) at += counts[r];
    }
    const int block = counts[team.rank];
    auto result = in_place ? mine : std::vector<Element>(block, Case::nothing());
    if (!in_place) result.push_back(Case::nothing());
    CALL(form, Reduce_scatter, reduce_scatter, in_place ? MPI_IN_PLACE : mine.data(), result.data(),
         counts.data(), Case::type(), Case::op(), team.comm);
    if (in_place) {
      result.resize(block);
      result.push_back(Case::nothing());
    }
    judge(result, 0, team.size - 1, at, block, "reduce_scatter");
  }
};

template <class Case>
static void all_of(const Team& team, Form form, int limit) {
  for (int count : counts_to(limit)) {
    Reductions<Case> reductions(team, form, count);
    for (bool in_place : {false, true}) {
      for (int root = 0; root < team.size; ++root)
        if (count <= 1000 || root == 0 || root == team.size - 1) reductions.reduce(root, in_place);
      reductions.allreduce(in_place);
      reductions.scan(in_place);
      reductions.exscan(in_place);
      // MPICH 5.0.2 stops: "memcpy argument memory ranges overlap" (in place, large).
      if (in_place && on_mpich()) continue;
      reductions.reduce_scatter_block(in_place);
      reductions.reduce_scatter(in_place);
    }
  }
}

int main(int argc, char** argv) {
  start(argc, argv);
  const int limit = static_cast<int>(option("limit", size > 8 ? 65536 : 262144));
  MUST(MPI_Type_contiguous(4, MPI_UNSIGNED, &matrix_type));
  MUST(MPI_Type_commit(&matrix_type));
  MUST(MPI_Op_create(multiply, 0, &matrix_op));
  int commutes = 1;
  MUST(MPI_Op_commutative(matrix_op, &commutes));
  CHECK(!commutes);
  for_teams([&](const Team& team, Form form) {
    all_of<Sum>(team, form, limit);
    all_of<Product>(team, form, limit / 4);
  });
  MUST(MPI_Op_free(&matrix_op));
  CHECK(matrix_op == MPI_OP_NULL);
  MUST(MPI_Type_free(&matrix_type));
  return finish();
}
