// The blocking collectives, each as its non-blocking twin and a wait of ours. Of those that reduce
// into all ranks the twin might add in another order: there all meet first, in a barrier that we
// wait for, and the collective itself is the host MPI's own, with the same bits as ever. Those that
// reduce otherwise (Reduce, Scan, Exscan) stay as they are: who only gives does not wait in them,
// and a meeting would make it.
#include "shim/agreement.h"
#include "shim/guests.h"
#include "shim/host_mpi.h"
#include "shim/waiting.h"

namespace meantime::shim {
namespace {

template <class... Arguments>
int by_twin(Host& plain, Host& twin, Handle communicator, const void* site,
            Arguments... arguments) {
  if (!takes_waits() || !is_ours(communicator)) {
    return plain(arguments...);
  }
  Request request;
  const int error = twin(arguments..., &request.value);
  return error != success ? error : wait_for(request, site);
}

template <class... Arguments>
int after_meeting(Host& plain, Handle communicator, const void* site, Arguments... arguments) {
  static Host ibarrier("PMPI_Ibarrier");
  if (takes_waits() && is_ours(communicator)) {
    Request request;
    int error = ibarrier(communicator, &request.value);
    error = error != success ? error : wait_for(request, site);
    if (error != success) {
      return error;
    }
  }
  return plain(arguments...);
}

}  // namespace
}  // namespace meantime::shim

using meantime::shim::Handle;

// A name is expanded on its way through the first of each two.
#define MEANTIME_BY_TWIN(...) MEANTIME_BY_THIS_TWIN(__VA_ARGS__)
#define MEANTIME_BY_THIS_TWIN(name, twin_name, communicator, parameters, ...)              \
  MEANTIME_SHIM(name, parameters) {                                                        \
    static meantime::shim::Host plain("PMPI_" #name);                                      \
    static meantime::shim::Host twin("PMPI_" #twin_name);                                  \
    return meantime::shim::by_twin(plain, twin, communicator, __builtin_return_address(0), \
                                   __VA_ARGS__);                                           \
  }
#define MEANTIME_MEETS(...) MEANTIME_THIS_MEETS(__VA_ARGS__)
#define MEANTIME_THIS_MEETS(name, communicator, parameters, ...)                           \
  MEANTIME_SHIM(name, parameters) {                                                        \
    static meantime::shim::Host plain("PMPI_" #name);                                      \
    return meantime::shim::after_meeting(plain, communicator, __builtin_return_address(0), \
                                         __VA_ARGS__);                                     \
  }

MEANTIME_BY_TWIN(Barrier, Ibarrier, comm, (Handle comm), comm)

#define MEANTIME_FORM(name) name
#define Count int
#include "shim/counted_collectives.inc"
#undef Count
#undef MEANTIME_FORM

// A rank may call the one where another calls the other.
#define MEANTIME_FORM(name) name##_c
#define Count std::int64_t
#include "shim/counted_collectives.inc"
#undef Count
#undef MEANTIME_FORM
