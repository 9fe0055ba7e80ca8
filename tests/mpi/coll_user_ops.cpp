// User ops: called with whole elements of derived types with gaps, results in rank order for
// non-commutative ones whatever the root, bits that repeat, MPI_Op_create with large counts.
#include "collective.h"

#include <algorithm>
#include <cstddef>

using namespace check;

struct Sample {  // with padding: 4 bytes of it after `key`
  int key;
  double value;
};
static int calls_with_other_type;
static MPI_Datatype sample_type;

static void keep_best(void* in, void* inout, int* length, MPI_Datatype* type) {
  if (*type != sample_type) ++calls_with_other_type;
  auto *a = static_cast<Sample*>(in), *b = static_cast<Sample*>(inout);
  for (int i = 0; i < *length; ++i)
    if (a[i].value > b[i].value || (a[i].value == b[i].value && a[i].key < b[i].key)) b[i] = a[i];
}

// Joins intervals [first, last] of ranks: any other order than rank order shows as a hole.
struct Interval {
  int first, last, ordered;
};
static void join(void* in, void* inout, int* length, MPI_Datatype*) {
  auto *a = static_cast<Interval*>(in), *b = static_cast<Interval*>(inout);
  for (int i = 0; i < *length; ++i) {
    b[i].ordered = a[i].ordered && b[i].ordered && a[i].last + 1 == b[i].first;
    b[i].first = a[i].first;
  }
}

// Not associative: average of doubles. Its bits tell the order of application.
static void average(void* in, void* inout, int* length, MPI_Datatype*) {
  auto *a = static_cast<double*>(in), *b = static_cast<double*>(inout);
  for (int i = 0; i < *length; ++i) b[i] = a[i] * 0.5 + b[i] * 0.5;
}

// The double is aligned where the whole element is; its first byte of data is the int's.
struct Pair {
  int unused;
  int key;
  double value;
};
static int misaligned;
static void add_pairs(void* in, void* inout, int* length, MPI_Datatype*) {
  for (void* place : {in, inout})
    misaligned += reinterpret_cast<std::uintptr_t>(place) % alignof(Pair) != 0;
  auto *a = static_cast<Pair*>(in), *b = static_cast<Pair*>(inout);
  for (int i = 0; i < *length; ++i) {
    b[i].key += a[i].key;
    b[i].value += a[i].value;
  }
}

static void large(void* in, void* inout, MPI_Count* length, MPI_Datatype*) {
  auto *a = static_cast<int*>(in), *b = static_cast<int*>(inout);
  for (MPI_Count i = 0; i < *length; ++i) b[i] += a[i];
}

int main(int argc, char** argv) {
  start(argc, argv);
  // A struct with a gap, two of them far apart per element by a resized extent.
  int lengths[] = {1, 1};
  MPI_Aint at[] = {0, 8};
  MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE}, bare;
  MUST(MPI_Type_create_struct(2, lengths, at, types, &bare));
  MUST(MPI_Type_create_resized(bare, 0, sizeof(Sample), &sample_type));
  MUST(MPI_Type_commit(&sample_type));
  MUST(MPI_Type_free(&bare));
  MPI_Aint pair_at[] = {offsetof(Pair, key), offsetof(Pair, value)};
  MPI_Datatype pair_type;
  MUST(MPI_Type_create_struct(2, lengths, pair_at, types, &bare));
  MUST(MPI_Type_create_resized(bare, 0, sizeof(Pair), &pair_type));
  MUST(MPI_Type_commit(&pair_type));
  MUST(MPI_Type_free(&bare));
  MPI_Op best, joined, averaged, summed, pairs;
  MUST(MPI_Op_create(add_pairs, 1, &pairs));
  MUST(MPI_Op_create(keep_best, 1, &best));
  MUST(MPI_Op_create(join, 0, &joined));
  MUST(MPI_Op_create(average, 0, &averaged));
  MUST(MPI_Op_create_c(large, 1, &summed));
  MPI_Datatype interval_type;
  MUST(MPI_Type_contiguous(3, MPI_INT, &interval_type));
  MUST(MPI_Type_commit(&interval_type));
  for_teams([&](const Team& team, Form form) {
    for (int count : {1, 7, 100, 3000, 20000}) {
      std::vector<Sample> mine(count), result(count);
      for (int i = 0; i < count; ++i) mine[i] = {team.rank, double((team.rank * 7 + i) % 5)};
      CALL(form, Allreduce, allreduce, mine.data(), result.data(), count, sample_type, best,
           team.comm);
      for (int i = 0; i < count; ++i) {
        Sample expected = {0, double(i % 5)};
        for (int r = 1; r < team.size; ++r)
          if ((r * 7 + i) % 5 > expected.value) expected = {r, double((r * 7 + i) % 5)};
        CHECK(result[i].key == expected.key && result[i].value == expected.value,
              "best %s %s %d of %d", team.name, name_of(form), i, count);
        if (errors > 5) return;
      }
      std::vector<Interval> intervals(count, {team.rank, team.rank, 1}), out(count);
      for (int root = 0; root < team.size; ++root) {
        CALL(form, Reduce, reduce, intervals.data(), out.data(), count, interval_type, joined, root,
             team.comm);
        if (team.rank == root)
          for (auto& o : out)
            CHECK(o.first == 0 && o.last == team.size - 1 && o.ordered,
                  "reduce to %d of %d elements on %s: not in rank order", root, count, team.name);
      }
      CALL(form, Allreduce, allreduce, intervals.data(), out.data(), count, interval_type, joined,
           team.comm);
      for (auto& o : out)
        CHECK(o.first == 0 && o.last == team.size - 1 && o.ordered, "allreduce: not in rank order");
      CALL(form, Scan, scan, intervals.data(), out.data(), count, interval_type, joined, team.comm);
      for (auto& o : out)
        CHECK(o.first == 0 && o.last == team.rank && o.ordered, "scan: not in rank order");

      std::vector<double> numbers(count), first(count), again(count);
      for (int i = 0; i < count; ++i) numbers[i] = 1.0 / (team.rank + 1) + i;
      for (int round = 0; round < 3; ++round) {
        if ((round + team.rank) % 3 == 0) compute_ms(1);
        CALL(form, Allreduce, allreduce, numbers.data(), again.data(), count, MPI_DOUBLE, averaged,
             team.comm);
        if (round == 0) first = again;
        CHECK(memcmp(first.data(), again.data(), count * 8) == 0, "other bits, %d elements", count);
      }
      std::vector<Pair> some(count, {0, team.rank, 0.5}), all(count);
      CALL(form, Allreduce, allreduce, some.data(), all.data(), count, pair_type, pairs, team.comm);
      for (const Pair& pair : all)
        CHECK(pair.key == team.size * (team.size - 1) / 2 && pair.value == 0.5 * team.size);
      std::vector<int> ones(count, team.rank), sums(count);
      CALL(form, Allreduce, allreduce, ones.data(), sums.data(), count, MPI_INT, summed, team.comm);
      for (int sum : sums) CHECK(sum == team.size * (team.size - 1) / 2);
    }
  });
  CHECK(calls_with_other_type == 0, "the op saw another type %d times", calls_with_other_type);
  if (!on_mpich())  // which aligns the first byte of data
    CHECK(misaligned == 0, "the op got %d misaligned arguments", misaligned);
  MUST(MPI_Op_free(&pairs));
  MUST(MPI_Type_free(&pair_type));
  MUST(MPI_Op_free(&best));
  MUST(MPI_Op_free(&joined));
  MUST(MPI_Op_free(&averaged));
  MUST(MPI_Op_free(&summed));
  MUST(MPI_Type_free(&sample_type));
  MUST(MPI_Type_free(&interval_type));
  return finish();
}
