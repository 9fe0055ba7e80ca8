// A scope in which UCX starts in this process: what it leaves there is told from what is the
// program's.
//   signals      blocked meanwhile, and so in the threads that it starts: they are the program's
//                own threads' affair
//   threads      UCX's, that sleep for ever unless something comes from other nodes. They live as
//                long as its worker: for ever. Any that are not surely UCX's are the program's,
//                which may start some, too: a deadlock is then not found (deadlock/deadlock.h), but
//                none is told that is none
//   descriptors  are closed in what the program executes. (What UCX opens for connections later
//                could be told from what another thread opens by nobody.)
#pragma once

#include <csignal>
#include <cstdint>
#include <set>

namespace meantime::net {

class StartOfUcx {
 public:
  StartOfUcx();
  ~StartOfUcx();
  StartOfUcx(const StartOfUcx&) = delete;
  StartOfUcx& operator=(const StartOfUcx&) = delete;

  std::uint32_t threads() const;
  std::set<int> descriptors() const;

 private:
  const std::set<int> threads_before_;
  const std::set<int> descriptors_before_;
  sigset_t signals_before_;
};

}  // namespace meantime::net
