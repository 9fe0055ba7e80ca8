#include "core/object/tables.h"

#include <climits>
#include <cstdlib>

#include "core/comm/context.h"
#include "core/comm/nodes.h"
#include "core/comm/tag_ranges.h"
#include "core/datatype/datatype.h"
#include "core/error/initial_errhandler.h"
#include "net/network.h"
#include "node/segment.h"
#include "protocol/control.h"

namespace meantime::core {
namespace {

Communicator* make_predefined(MPI_Comm constant, const char* name, std::uint32_t context,
                              Group* group) {
  auto* comm = new Communicator;
  comm->constant = constant;
  comm->name = name;
  comm->context = context;
  comm->group = group;
  comm->size = group->size;
  comm->rank = group->rank;
  comm->errhandler = hold(initial_errhandler());
  return comm;
}

}  // namespace

Tables::Tables() {
  fatal.constant = MPI_ERRORS_ARE_FATAL;
  abort.constant = MPI_ERRORS_ABORT;
  returns.constant = MPI_ERRORS_RETURN;
  tag_ub = highest_user_tag;
  const char* const program = std::getenv(launch::program_variable);
  appnum = program != nullptr ? std::atoi(program) : 0;
}

Tables::~Tables() {
  drop(environment);
  drop(files);
}

Tables& make_tables(Rank& rank) {
  rank.tables = std::make_shared<Tables>();
  return *rank.tables;
}

Info* environment_info() {
  Tables& all = tables();
  if (all.environment == nullptr) {
    all.environment = make_environment_info({});
    all.environment->constant = MPI_INFO_ENV;
    all.environment->read_only = true;
  }
  return all.environment;
}

int make_world(Rank& rank) {
  Tables& all = tables();
  all.universe_size = rank.world_size;
  rank.all_ranks = make_predefined(MPI_COMM_WORLD, "MPI_COMM_WORLD", world_context,
                                   make_identity_group(rank.world_size));
  if (net::network() != nullptr) {
    settle_world_on_nodes(*rank.all_ranks);
  } else {
    rank.all_ranks->collective_area = node::segment().header().world_collective;
  }
  rank.only_this =
      make_predefined(MPI_COMM_SELF, "MPI_COMM_SELF", self_context, make_group({rank.world_rank}));
  return MPI_SUCCESS;
}

int delete_final_attributes(Rank& rank) {
  const int own = delete_attributes(rank.alone->attributes, MPI_COMM_SELF);
  const int worlds = delete_attributes(rank.world->attributes, MPI_COMM_WORLD);
  return own != MPI_SUCCESS ? own : worlds;
}

int delete_named_types_attributes() {
  int first_error = MPI_SUCCESS;
  // One by one, as the user's functions may set others.
  for (Datatype* type : predefined_datatypes) {
    auto& all = tables().named_type_attributes;
    const auto found = type == nullptr ? all.end() : all.find(type);
    if (found == all.end()) {
      continue;
    }
    const int error = delete_attributes(found->second, type->handle());
    first_error = first_error != MPI_SUCCESS ? first_error : error;
  }
  return first_error;
}

void free_world(Rank& rank) {
  drop(rank.all_ranks);
  drop(rank.only_this);
  rank.all_ranks = nullptr;
  rank.only_this = nullptr;
}

}  // namespace meantime::core
