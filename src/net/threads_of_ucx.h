// Which threads of this process are UCX's, and not the program's: those that sleep for ever unless
// something comes from other nodes.
#pragma once

#include <cstdint>
#include <set>

namespace meantime::net {

/// Those that UCX has started in a scope, by this thread, with all signals blocked. They live as
/// long as its worker: for ever. Any that are not surely UCX's are the program's, which may start
/// some, too: a deadlock is then not found (deadlock/deadlock.h), but none is told that is none.
class ThreadsOfUcx {
 public:
  ThreadsOfUcx();
  std::uint32_t count() const;

 private:
  const std::set<int> before_;
};

}  // namespace meantime::net
