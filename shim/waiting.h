// Waiting for something of the host MPI's. There is no event that would wake us: who is not to poll
// has to sleep by a timer, and look then.
//   look       one Test, or Iprobe: what the host MPI has for that wait
//   nap        a sleep that is a small part of how long the wait has lasted, so that what it adds
//              to a wait is a smaller part still
//   lateness   how long after its time a timer wakes this thread
// A wait sleeps for half of what it takes at this place at least, by the last ones (or as ADE has
// it, or not at all); looks until it has lasted long enough; then naps. So whatever sleeps add to
// others' waits gets less from one rank to the next. With a guest function it works instead.
#pragma once

#include <cstdint>

#include "shim/host_mpi.h"

namespace meantime::shim {

/// Until `look` says that it is over, or fails: what its call returned. `site`: where in the
/// program the wait is.
class Look {
 public:
  /// Sets *over.
  virtual int operator()(int* over) = 0;

 protected:
  ~Look() = default;
};
int wait_by(Look& look, const void* site);

/// Any call that ends like one: as a look.
template <class Call>
int wait_until(Call&& call, const void* site) {
  class Called final : public Look {
   public:
    explicit Called(Call& call) : call_(call) {}
    int operator()(int* over) override { return call_(over); }

   private:
    Call& call_;
  };
  Called look(call);
  return wait_by(look, site);
}

/// Until a request is over, into a status of the caller's kind.
int wait_for(Request& request, const void* site);

/// Of this process.
struct Waited {
  std::uint64_t ns = 0;
  std::uint64_t asleep_ns = 0;
};
Waited waited();

}  // namespace meantime::shim
