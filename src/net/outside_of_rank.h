// What UCX makes on a thread rank's stack, a socket for instance, is its host's: the rank's files
// are closed when it ends.
#pragma once

namespace meantime::net {

using ActFor = void* (*)(void* rank);

namespace detail {
extern constinit ActFor act_for;
}

/// The host's (protocol/host_interface.h); nullptr in a process rank.
inline ActFor& act_for() {
  return detail::act_for;
}

class OutsideOfRank {
 public:
  OutsideOfRank() : rank_(act_for() != nullptr ? act_for()(nullptr) : nullptr) {}
  ~OutsideOfRank() {
    if (act_for() != nullptr) {
      act_for()(rank_);
    }
  }
  OutsideOfRank(const OutsideOfRank&) = delete;
  OutsideOfRank& operator=(const OutsideOfRank&) = delete;

 private:
  void* const rank_;
};

}  // namespace meantime::net
