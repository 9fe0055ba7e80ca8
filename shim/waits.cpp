// Waits for messages and requests (`--steal all`): each as the call that only looks, again and
// again. They are ours on this rank alone: what the other side does is the same messages.
#include "shim/guests.h"
#include "shim/host_mpi.h"
#include "shim/waiting.h"

namespace meantime::shim {
namespace {

bool are_ours() {
  return takes_waits() && steals_all();
}

/// From nobody there is nothing to wait for; MPICH's looks do not write such a status.
bool are_ours_with(int peer) {
  return are_ours() && constants() != nullptr && peer != constants()->proc_null;
}

/// `look`: what the wait is as a look, which sets whether it is over. `plain`: the wait itself.
template <class Call, class... Arguments>
int by_looks(bool ours, Host& plain, const void* site, Call&& look, Arguments... arguments) {
  return ours ? wait_until(look, site) : plain(arguments...);
}

/// A send that waits for its receiver, as the one that does not and a wait.
int send_by_looks(Host& plain, Host& start, const void* site, void* buffer, int count, Handle type,
                  int target, int tag, Handle comm) {
  if (!are_ours_with(target)) {
    return plain(buffer, count, type, target, tag, comm);
  }
  Request request;
  const int error = start(buffer, count, type, target, tag, comm, &request.value);
  return error != success ? error : wait_for(request, site);
}

}  // namespace
}  // namespace meantime::shim

using meantime::shim::are_ours;
using meantime::shim::are_ours_with;
using meantime::shim::by_looks;
using meantime::shim::Handle;
using meantime::shim::Host;

MEANTIME_SHIM(Wait, (void* request, void* status)) {
  static Host plain("PMPI_Wait");
  static Host test("PMPI_Test");
  return by_looks(
      are_ours(), plain, __builtin_return_address(0),
      [&](int* over) { return test(request, over, status); }, request, status);
}

MEANTIME_SHIM(Waitall, (int count, void* requests, void* statuses)) {
  static Host plain("PMPI_Waitall");
  static Host test("PMPI_Testall");
  return by_looks(
      are_ours(), plain, __builtin_return_address(0),
      [&](int* over) { return test(count, requests, over, statuses); }, count, requests, statuses);
}

MEANTIME_SHIM(Waitany, (int count, void* requests, int* index, void* status)) {
  static Host plain("PMPI_Waitany");
  static Host test("PMPI_Testany");
  return by_looks(
      are_ours(), plain, __builtin_return_address(0),
      [&](int* over) { return test(count, requests, index, over, status); }, count, requests, index,
      status);
}

MEANTIME_SHIM(Waitsome, (int count, void* requests, int* done, int* indices, void* statuses)) {
  static Host plain("PMPI_Waitsome");
  static Host test("PMPI_Testsome");
  const auto look = [&](int* over) {
    const int error = test(count, requests, done, indices, statuses);
    *over = *done != 0 ? 1 : 0;  // none yet is 0; none at all, MPI_UNDEFINED, is less
    return error;
  };
  return by_looks(are_ours(), plain, __builtin_return_address(0), look, count, requests, done,
                  indices, statuses);
}

MEANTIME_SHIM(Probe, (int source, int tag, Handle comm, void* status)) {
  static Host plain("PMPI_Probe");
  static Host look("PMPI_Iprobe");
  return by_looks(
      are_ours_with(source), plain, __builtin_return_address(0),
      [&](int* over) { return look(source, tag, comm, over, status); }, source, tag, comm, status);
}

MEANTIME_SHIM(Mprobe, (int source, int tag, Handle comm, void* message, void* status)) {
  static Host plain("PMPI_Mprobe");
  static Host look("PMPI_Improbe");
  return by_looks(
      are_ours_with(source), plain, __builtin_return_address(0),
      [&](int* over) { return look(source, tag, comm, over, message, status); }, source, tag, comm,
      message, status);
}

MEANTIME_SHIM(Recv, (void* buffer, int count, Handle type, int source, int tag, Handle comm,
                     void* status)) {
  static Host plain("PMPI_Recv");
  static Host start("PMPI_Irecv");
  static Host test("PMPI_Test");
  if (!are_ours_with(source)) {
    return plain(buffer, count, type, source, tag, comm, status);
  }
  meantime::shim::Request request;
  const int error = start(buffer, count, type, source, tag, comm, &request.value);
  return error != meantime::shim::success
             ? error
             : meantime::shim::wait_until(
                   [&](int* over) { return test(&request.value, over, status); },
                   __builtin_return_address(0));
}

MEANTIME_SHIM(Sendrecv, (void* send, int count, Handle type, int target, int tag, void* receive,
                         int receive_count, Handle receive_type, int source, int receive_tag,
                         Handle comm, void* status)) {
  static Host plain("PMPI_Sendrecv");
  static Host start("PMPI_Irecv");
  static Host start_send("PMPI_Isend");
  static Host test("PMPI_Test");
  if (!are_ours_with(source)) {
    return plain(send, count, type, target, tag, receive, receive_count, receive_type, source,
                 receive_tag, comm, status);
  }
  using meantime::shim::success;
  meantime::shim::Request received;
  meantime::shim::Request sent;
  int error =
      start(receive, receive_count, receive_type, source, receive_tag, comm, &received.value);
  if (error != success) {
    return error;
  }
  error = start_send(send, count, type, target, tag, comm, &sent.value);
  // The receive stays posted if the send fails, as the standard leaves it.
  if (error == success) {
    error =
        meantime::shim::wait_until([&](int* over) { return test(&received.value, over, status); },
                                   __builtin_return_address(0));
    const int of_send = meantime::shim::wait_for(sent, __builtin_return_address(0));
    error = error != success ? error : of_send;
  }
  return error;
}

MEANTIME_SHIM(Send, (void* buffer, int count, Handle type, int target, int tag, Handle comm)) {
  static Host plain("PMPI_Send");
  static Host start("PMPI_Isend");
  return meantime::shim::send_by_looks(plain, start, __builtin_return_address(0), buffer, count,
                                       type, target, tag, comm);
}

MEANTIME_SHIM(Ssend, (void* buffer, int count, Handle type, int target, int tag, Handle comm)) {
  static Host plain("PMPI_Ssend");
  static Host start("PMPI_Issend");
  return meantime::shim::send_by_looks(plain, start, __builtin_return_address(0), buffer, count,
                                       type, target, tag, comm);
}
