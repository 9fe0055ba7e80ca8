// Communicators of the plan.
//   team    one communicator that this rank is in. Every rank has as many, in the same order; where
//           a split gave several, each rank's is its own part, and the parts run the same
//           operations beside each other.
//   side    of an intercommunicator: 0 or 1; what a plan says about side 0 means the same on both.
#pragma once

#include "plan.h"

namespace fuzz {

struct Team {
  enum class Topology { none, cartesian, adjacent, graph };

  MPI_Comm comm = MPI_COMM_NULL;  ///< MPI_COMM_NULL if this rank is in none
  bool inter = false;
  bool mine = true;  ///< freed at the end
  Topology topology = Topology::none;
  int rank = 0;
  int side = 0;
  int sizes[2] = {1, 1};       ///< of both sides; the same twice if there is one
  std::uint64_t identity = 0;  ///< the same on all its ranks, another on other parts

  int peers() const { return sizes[inter ? 1 - side : 0]; }
  int size() const { return sizes[side]; }
};

/// The communicator number `index` of the plan, made of those before it. Collective over all ranks.
std::unique_ptr<Team> make_team(Run& run, int index);
/// Another communicator with the ranks of an intracommunicator.
MPI_Comm make_alike(Random& random, const Team& team, int tag);

}  // namespace fuzz
