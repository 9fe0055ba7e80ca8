// MPI_Comm_dup and MPI_Comm_idup: one invitation from the leader to everybody.
#include <memory>
#include <vector>

#include "core/comm/communicator_make.h"
#include "core/comm/invitation.h"
#include "core/comm/nodes.h"
#include "core/error/error.h"
#include "core/object/attribute.h"
#include "core/object/tables.h"
#include "core/request/point_to_point.h"
#include "core/topology/topology.h"
#include "wait/wait.h"

namespace meantime::core {
namespace {

/// Rank 0; of an intercommunicator that of the group whose rank 0 comes first in the world. It
/// leads both sides: it takes all contexts and invites every rank itself.
bool leads(const Communicator& comm) {
  return comm.rank == 0 &&
         (!comm.is_inter() || comm.group->world_rank(0) < comm.remote_group->world_rank(0));
}

/// The invitations of the two sides of an intercommunicator; of an intracommunicator only `own`.
struct Invitations {
  Invitation own;
  Invitation remote;
};

Invitations acquire(const Communicator& comm) {
  Invitations made;
  Invitation& own = made.own;
  if (!comm.is_inter()) {
    own.error = acquire_context(comm, comm.size, true, &own.context);
    return made;
  }
  own.error = acquire_context(comm, comm.size + comm.remote_group->size, false, &own.context);
  if (own.error == MPI_SUCCESS) {
    own.error = acquire_context(comm, comm.size, true, &own.local);
  }
  made.remote = own;
  if (own.error == MPI_SUCCESS) {
    own.error = acquire_context(comm, comm.remote_group->size, true, &made.remote.local);
    made.remote.error = own.error;
  }
  return made;
}

void take_context(Communicator& comm, const Context& context) {
  comm.context = context.number;
  comm.context_block = context.block;
}

/// The request of a duplication: complete when the invitation is here, or all of them are sent.
class Duplication final : public Request {
 public:
  Duplication(Communicator& parent, Communicator& child)
      : Request(Type::collective), child_(hold(child)) {
    comm = hold(parent);
  }
  ~Duplication() { drop(child_); }

  int lead() {
    invitations_ = acquire(*comm);
    Communicator& local = comm->is_inter() ? *comm->local : *comm;
    for (int member = 1; member < local.size; ++member) {
      if (const int error = invite(local, member, invitations_.own); error != MPI_SUCCESS) {
        return error;
      }
    }
    for (int member = 0; comm->is_inter() && member < comm->remote_group->size; ++member) {
      if (const int error = invite(*comm, member, invitations_.remote); error != MPI_SUCCESS) {
        return error;
      }
    }
    accept();
    return MPI_SUCCESS;
  }

  int follow() {
    const bool led_by_other_side =
        comm->is_inter() && comm->remote_group->world_rank(0) < comm->group->world_rank(0);
    Communicator& carrier = comm->is_inter() && !led_by_other_side ? *comm->local : *comm;
    Request* part = nullptr;
    const int error =
        start_receive(receive_of(&invitations_.own, sizeof(Invitation), *resolve(MPI_BYTE), 0,
                                 duplicate_tag, ContextOffset::collective),
                      carrier, &part);
    if (part != nullptr) {
      parts_.push_back(part);
    }
    return error;
  }

  bool advance() override {
    while (!parts_.empty()) {
      if (!parts_.back()->advance()) {
        return false;
      }
      Request* part = parts_.back();
      parts_.pop_back();
      if (const int failed = finish(part, MPI_STATUS_IGNORE); failed != MPI_SUCCESS) {
        error = failed;
      }
    }
    if (!accepted_) {
      accept();
    }
    complete = true;
    return true;
  }

  int arm(node::Waiter& waiter) override { return parts_.empty() ? 0 : parts_.back()->arm(waiter); }
  void disarm(node::Waiter& waiter) override {
    if (!parts_.empty()) {
      parts_.back()->disarm(waiter);
    }
  }
  void describe(wait::Situation& situation) const override {
    if (!parts_.empty()) {
      parts_.back()->describe(situation);
    }
  }

 private:
  int invite(Communicator& carrier, int peer, const Invitation& invitation) {
    Request* part = nullptr;
    const int error = start_send(send_of(&invitation, sizeof invitation, *resolve(MPI_BYTE), peer,
                                         duplicate_tag, ContextOffset::collective),
                                 carrier, &part);
    if (part != nullptr) {
      parts_.push_back(part);
    }
    return error;
  }

  void accept() {
    accepted_ = true;
    const Invitation& invitation = invitations_.own;
    if (invitation.error != MPI_SUCCESS) {
      error = not_made(invitation.error);
      return;
    }
    take_context(*child_, invitation.context);
    if (child_->local != nullptr) {
      take_context(*child_->local, invitation.local);
    }
  }

  Communicator* child_;
  Invitations invitations_;  // what `parts_` read or write
  std::vector<Request*> parts_;
  bool accepted_ = false;
};

/// Everything of the copy that needs nobody else, neither ranks nor the user's functions.
Communicator* copy_locally(Communicator& comm, const Info* info) {
  const bool inter = comm.is_inter();
  Communicator* child =
      assemble({}, hold(*comm.group), inter ? hold(*comm.remote_group) : nullptr, &comm);
  if (inter) {
    child->local = assemble({}, hold(*comm.group), nullptr, &comm);
  }
  if (comm.topology != nullptr) {
    child->topology = comm.topology->copy();
  }
  if (info != nullptr) {
    set_hints(*child, info);
  } else {
    inherit_hints(*child, comm);
  }
  return child;
}

}  // namespace

int start_duplicate(Communicator& comm, const Info* info, Communicator** made, Request** request) {
  // A copy function that fails here may succeed at other ranks, which then wait for this one's
  // part: so it is done before this one gives up.
  std::unique_ptr<Communicator, Drop> child(copy_locally(comm, info));
  const int copied = copy_attributes(comm.attributes, comm.handle(), child->attributes);
  auto* duplication = new Duplication(comm, *child);
  const int started = leads(comm) ? duplication->lead() : duplication->follow();
  if (copied == MPI_SUCCESS && started == MPI_SUCCESS) {
    *made = child.release();
    *request = duplication;
    return MPI_SUCCESS;
  }
  if (started == MPI_SUCCESS) {
    finish(duplication, MPI_STATUS_IGNORE);
  } else {
    delete duplication;
  }
  // What the copy functions made goes the way of every attribute.
  delete_attributes(child->attributes, child->handle());
  *made = nullptr;
  *request = nullptr;
  return copied != MPI_SUCCESS ? copied : started;
}

int duplicate(Communicator& comm, const Info* info, Communicator** made) {
  Request* request = nullptr;
  int error = start_duplicate(comm, info, made, &request);
  if (error == MPI_SUCCESS) {
    error = finish(request, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS) {
      delete_attributes((*made)->attributes, (*made)->handle());
      drop(*made);
      *made = nullptr;
    }
  }
  return error == MPI_SUCCESS ? settle_on_nodes(**made) : error;
}

}  // namespace meantime::core
