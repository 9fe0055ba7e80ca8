// MPI 5.0 chapter 7.3: groups.
#include "core/comm/group.h"

#include "api/generated/calls.h"
#include "core/comm/communicator.h"
#include "core/error/error.h"
#include "core/object/tables.h"

namespace meantime::api {
namespace {

int give(Group* made, MPI_Group* handle) {
  *handle = core::handle_of_its_own(made);
  return MPI_SUCCESS;
}

int give_if(int error, Group* made, MPI_Group* handle) {
  if (error == MPI_SUCCESS) {
    *handle = core::handle_of_its_own(made);
  }
  return error;
}

}  // namespace

int Group_size(Group& group, int* size) {
  *size = group.size;
  return MPI_SUCCESS;
}

int Group_rank(Group& group, int* rank) {
  *rank = group.rank < 0 ? MPI_UNDEFINED : group.rank;
  return MPI_SUCCESS;
}

int Group_translate_ranks(Group& group1, int n, const int ranks1[], Group& group2, int ranks2[]) {
  return core::translate(group1, n, ranks1, group2, ranks2);
}

int Group_compare(Group& group1, Group& group2, int* result) {
  *result = core::compare(group1, group2);
  return MPI_SUCCESS;
}

int Comm_group(Communicator& comm, MPI_Group* group) {
  return give(hold(*comm.group), group);
}

int Comm_remote_group(Communicator& comm, MPI_Group* group) {
  return give(hold(*comm.remote_group), group);
}

int Group_union(Group& group1, Group& group2, MPI_Group* newgroup) {
  return give(core::unite(group1, group2), newgroup);
}

int Group_intersection(Group& group1, Group& group2, MPI_Group* newgroup) {
  return give(core::intersect(group1, group2), newgroup);
}

int Group_difference(Group& group1, Group& group2, MPI_Group* newgroup) {
  return give(core::subtract(group1, group2), newgroup);
}

int Group_incl(Group& group, int n, const int ranks[], MPI_Group* newgroup) {
  Group* made = nullptr;
  const int error = core::include(group, n, ranks, &made);
  return give_if(error, made, newgroup);
}

int Group_excl(Group& group, int n, const int ranks[], MPI_Group* newgroup) {
  Group* made = nullptr;
  const int error = core::exclude(group, n, ranks, &made);
  return give_if(error, made, newgroup);
}

int Group_range_incl(Group& group, int n, int ranges[][3], MPI_Group* newgroup) {
  Group* made = nullptr;
  const int error = core::include_ranges(group, n, ranges, &made);
  return give_if(error, made, newgroup);
}

int Group_range_excl(Group& group, int n, int ranges[][3], MPI_Group* newgroup) {
  Group* made = nullptr;
  const int error = core::exclude_ranges(group, n, ranges, &made);
  return give_if(error, made, newgroup);
}

int Group_free(MPI_Group* group) {
  // MPI_GROUP_EMPTY may be freed, because it is what some calls return; its object stays.
  Group* object = resolve(*group);
  if (object == nullptr) {
    return fail(MPI_ERR_GROUP, "there is no group to free");
  }
  if (*group != MPI_GROUP_EMPTY) {
    drop(object);
  }
  *group = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}

}  // namespace meantime::api
