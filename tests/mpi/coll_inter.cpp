// Collectives of intercommunicators: the lower third of the ranks against the others, blocking and
// not, each rank of both groups as the root.
#include "collective.h"

using namespace check;

static int value(int seed, int group, int from, int to, int index) {
  return seed * 100003 + group * 10007 + from * 1009 + to * 101 + index;
}
static std::vector<int> block(int seed, int group, int from, int to, int count) {
  std::vector<int> values(count);
  for (int i = 0; i < count; ++i) values[i] = value(seed, group, from, to, i);
  return values;
}
static std::vector<int> sum(int seed, int group, int members, int count) {
  std::vector<int> values(count, 0);
  for (int r = 0; r < members; ++r)
    for (int i = 0; i < count; ++i) values[i] += value(seed, group, r, 0, i);
  return values;
}
static void append(std::vector<int>& to, const std::vector<int>& part) {
  to.insert(to.end(), part.begin(), part.end());
}

int main(int argc, char** argv) {
  start(argc, argv);
  if (size < 2) return finish();
  const int lower = size / 3 + (size < 3);
  const int group = rank < lower ? 0 : 1;
  MPI_Comm local, inter;
  MUST(MPI_Comm_split(MPI_COMM_WORLD, group, rank, &local));
  MUST(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, group ? 0 : lower, 17, &inter));
  int me, mine, theirs;
  MPI_Comm_rank(inter, &me);
  MPI_Comm_size(inter, &mine);
  MPI_Comm_remote_size(inter, &theirs);
  const int other = 1 - group;
  int seed = 0;
  for (Form form : {Form::blocking, Form::waited, Form::tested})
    for (int count : {0, 1, 100, 20000}) {
      CALL(form, Barrier, barrier, inter);
      // Rooted: rank `root` of group `g` is the root.
      for (int g = 0; g < 2; ++g)
        for (int root = 0; root < (g == group ? mine : theirs); root += 1 + root * 3) {
          ++seed;
          const bool is_root = g == group && me == root;
          const int role = g != group ? root : is_root ? int(MPI_ROOT) : int(MPI_PROC_NULL);
          std::vector<int> buffer(count, -1);
          if (is_root) buffer = block(seed, g, root, 0, count);
          CALL(form, Bcast, bcast, buffer.data(), count, MPI_INT, role, inter);
          // MPICH's Ibcast takes rank 0 of the other group for the root.
          if (g != group && !(on_mpich() && form != Form::blocking && root != 0))
            CHECK(buffer == block(seed, g, root, 0, count), "Bcast of %d, root %d of group %d, %s",
                  count, root, g, name_of(form));
          std::vector<int> out = block(seed, group, me, 0, count), in, wanted;
          in.assign(is_root ? count * theirs : 0, -1);
          CALL(form, Gather, gather, out.data(), count, MPI_INT, in.data(), count, MPI_INT, role,
               inter);
          for (int r = 0; r < theirs && is_root; ++r)
            append(wanted, block(seed, other, r, 0, count));
          CHECK(in == wanted, "Gather");
          in.assign(is_root ? count : 0, -1);
          CALL(form, Reduce, reduce, out.data(), in.data(), count, MPI_INT, MPI_SUM, role, inter);
          if (is_root) CHECK(in == sum(seed, other, theirs, count), "Reduce");
          out.clear();
          for (int r = 0; r < theirs && is_root; ++r)
            append(out, block(seed, group, root, r, count));
          in.assign(count, -1);
          CALL(form, Scatter, scatter, out.data(), count, MPI_INT, in.data(), count, MPI_INT, role,
               inter);
          if (g != group) CHECK(in == block(seed, g, root, me, count), "Scatter");
        }
      seed = 1000 + count;
      std::vector<int> out = block(seed, group, me, 0, count), in(count * theirs, -1), wanted;
      CALL(form, Allgather, allgather, out.data(), count, MPI_INT, in.data(), count, MPI_INT,
           inter);
      for (int r = 0; r < theirs; ++r) append(wanted, block(seed, other, r, 0, count));
      CHECK(in == wanted, "Allgather");
      in.assign(count, -1);
      CALL(form, Allreduce, allreduce, out.data(), in.data(), count, MPI_INT, MPI_SUM, inter);
      CHECK(in == sum(seed, other, theirs, count), "Allreduce");
      out.clear();
      wanted.clear();
      for (int r = 0; r < theirs; ++r) {
        append(out, block(seed, group, me, r, count));
        append(wanted, block(seed, other, r, me, count));
      }
      in.assign(count * theirs, -1);
      CALL(form, Alltoall, alltoall, out.data(), count, MPI_INT, in.data(), count, MPI_INT, inter);
      CHECK(in == wanted, "Alltoall");
      // Each group's sum is scattered over the other: both have mine * theirs * count elements.
      const int all = mine * theirs * count;
      out = block(seed, group, me, 0, all);
      in.assign(theirs * count, -1);
      CALL(form, Reduce_scatter_block, reduce_scatter_block, out.data(), in.data(), theirs * count,
           MPI_INT, MPI_SUM, inter);
      const std::vector<int> whole = sum(seed, other, theirs, all);
      CHECK(in == std::vector<int>(whole.begin() + me * theirs * count,
                                   whole.begin() + (me + 1) * theirs * count),
            "Reduce_scatter_block");
    }
  MUST(MPI_Comm_free(&inter));
  MUST(MPI_Comm_free(&local));
  return finish();
}
