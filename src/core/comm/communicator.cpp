#include "core/comm/communicator.h"

#include "core/comm/context.h"
#include "core/comm/nodes.h"
#include "core/error/errhandler.h"
#include "core/object/attribute.h"
#include "core/object/info.h"
#include "core/topology/topology.h"
#include "net/network.h"
#include "policy/policy.h"
#include "rank/rank.h"
#include "wait/wait.h"

namespace meantime {

Communicator::Communicator() : Object(Kind::communicator) {}

Communicator::~Communicator() {
  // What the collectives have here leaves the context itself, once nobody reads it any more. After
  // MPI_Finalize the segment goes with the job.
  if (context_block != 0 && collectives == nullptr && self().engine != nullptr) {
    core::finish_context(context_block);
    core::leave_context(context_block);
  }
  drop(local);
  drop(group);
  drop(remote_group);
  drop(errhandler);
  drop(info);
}

bool Communicator::is_on_one_node() const {
  const net::Network* const network = net::network();
  const auto is_here = [network](const Group* members) {
    for (int member = 0; members != nullptr && member < members->size; ++member) {
      if (network->is_elsewhere(members->world_rank(member))) {
        return false;
      }
    }
    return true;
  };
  return network == nullptr || (is_here(group) && is_here(remote_group));
}

void Communicator::describe(int peer, int tag, wait::Situation& situation) const {
  situation.context = context;
  situation.name = &name_or_origin();
  situation.policy = waiting.get();
  situation.peer = peer;
  situation.world_peer = peer < 0 ? peer : peer_world_rank(peer);
  situation.tag = tag;
}

}  // namespace meantime
