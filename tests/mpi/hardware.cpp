// The hardware that ranks are kept to: each kind that MPI_Get_hw_resource_info names splits the
// ranks that are kept to one of its instances by it, and no others; without a guide
// MPI_Comm_split_type goes down a step at a time, to parts that it does not divide.
#include <sched.h>

#include <map>

#include "check.h"

using namespace check;

namespace {

std::map<std::string, std::string> kinds() {
  MPI_Info info;
  int keys = -1;
  MUST(MPI_Get_hw_resource_info(&info));
  MUST(MPI_Info_get_nkeys(info, &keys));
  std::map<std::string, std::string> all;
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = "", value[100] = "";
    int length = sizeof value, flag = 0;
    MUST(MPI_Info_get_nthkey(info, i, key));
    MUST(MPI_Info_get_string(info, key, &length, value, &flag));
    all[key] = value;
  }
  MUST(MPI_Info_free(&info));
  return all;
}

MPI_Comm part_by(MPI_Comm comm, int type, const char* kind) {
  MPI_Info guide;
  MUST(MPI_Info_create(&guide));
  MUST(MPI_Info_set(guide, "mpi_hw_resource_type", kind));
  MPI_Comm part;
  MUST(MPI_Comm_split_type(comm, type, rank, guide, &part));
  MUST(MPI_Info_free(&guide));
  return part;
}

int size_of(MPI_Comm comm) {
  int result = 0;
  if (comm != MPI_COMM_NULL) MUST(MPI_Comm_size(comm, &result));
  return result;
}

void free_of(MPI_Comm& comm) {
  if (comm != MPI_COMM_NULL) MUST(MPI_Comm_free(&comm));
}

/// What all ranks have, by point-to-point messages alone.
std::vector<int> all_of(int own) {
  std::vector<int> result(size, own);
  for (int other = 0; other < size; ++other)
    MUST(MPI_Sendrecv(&own, 1, MPI_INT, other, 1, &result[other], 1, MPI_INT, other, 1,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  return result;
}

/// The CPU that this rank is bound to, or -1.
int only_cpu() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0 || CPU_COUNT(&mask) != 1) return -1;
  for (int cpu = 0;; ++cpu)
    if (CPU_ISSET(cpu, &mask)) return cpu;
}

}  // namespace

int main(int argc, char** argv) {
  start(argc, argv);
  const auto own = kinds();
  for (const auto& [kind, kept] : own) {
    for (const int type : {MPI_COMM_TYPE_HW_GUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED}) {
      if (on_mpich() && type == MPI_COMM_TYPE_RESOURCE_GUIDED) continue;
      MPI_Comm part = part_by(MPI_COMM_WORLD, type, kind.c_str());
      CHECK((part != MPI_COMM_NULL) == (kept == "true"), "%s: %s", kind.c_str(), kept.c_str());
      free_of(part);
    }
  }
  // The standard's own examples have names without a scheme.
  if (!on_mpich()) {
    MPI_Comm part = part_by(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, "Machine");
    CHECK(size_of(part) == size, "%d", size_of(part));
    free_of(part);
    part = part_by(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, "hwloc://Nonsense");
    CHECK(part == MPI_COMM_NULL);
  }
  // Who is bound to one CPU is in a part with those that are bound to the same.
  const int cpu = only_cpu();
  const std::vector<int> cpus = all_of(cpu);
  if (own.count("hwloc://PU") != 0 && !on_mpich() && option("bound", 0) != 0) {
    CHECK(cpu >= 0 && own.at("hwloc://PU") == "true");
    MPI_Comm part = part_by(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, "hwloc://PU");
    int expected = 0;
    for (const int other : cpus) expected += other == cpu ? 1 : 0;
    CHECK(size_of(part) == expected, "%d, not %d", size_of(part), expected);
    free_of(part);
  }
  // Without a guide: a step at a time, to smaller and smaller parts.
  MPI_Comm whole = MPI_COMM_WORLD;
  int steps = 0;
  for (;; ++steps) {
    MPI_Comm part;
    const int before = size_of(whole);
    MUST(MPI_Comm_split_type(whole, MPI_COMM_TYPE_HW_UNGUIDED, rank, MPI_INFO_NULL, &part));
    if (whole != MPI_COMM_WORLD) MUST(MPI_Comm_free(&whole));
    if (part == MPI_COMM_NULL) break;
    CHECK(size_of(part) < before, "%d of %d", size_of(part), before);
    whole = part;
  }
  if (option("bound", 0) != 0 && !on_mpich()) {
    bool apart = false;
    for (const int other : cpus) apart = apart || other != cpu;
    CHECK((steps > 0) == apart, "%d steps", steps);
  }
  return finish();
}
