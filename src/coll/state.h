// What a rank keeps for the collectives of one communicator.
//   window    how many epochs a member may be ahead of the slowest one
//   in use    a place of this rank's in the segment that others may still read a deposit from
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/heuristics.h"
#include "coll/area.h"
#include "wait/wait.h"

namespace meantime {

struct Communicator;

namespace coll {

namespace by_nodes {
struct Edges;
}

inline constexpr int window = stage_count / 2;
inline constexpr int all_members = -1;

struct State {
  explicit State(Communicator& comm);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// A place for a deposit of the epoch that is under way, for all members or `reader` alone. Waits
  /// for memory (core/request/segment_memory.h), and for those who are far behind. It is taken back
  /// by itself when nobody can read it any more.
  node::Link place(const Communicator& comm, std::size_t bytes, int reader = all_members);
  /// A place that this member got is read until all have left `epoch`.
  void keep(node::Link place, std::uint64_t epoch);
  /// Learns from the stages which epochs everybody has left; `known_left` afterwards.
  void look_around();
  /// Others may still read a deposit of this member.
  bool has_given() const { return !in_use_.empty(); }
  /// What nobody reads any more: as all have arrived elsewhere since, or, `closely`, as each member
  /// says, whose line must be fetched for that.
  void take_back(bool closely = false);
  /// When nobody reads any.
  void take_all_back();
  /// A tag for the messages of one collective: the same at all members. Those that are requests
  /// have their own: a program may begin one before a blocking collective at one member and after
  /// it at another. MPI forbids that, but on one node, and by other MPIs, it works (mpi4py's
  /// testIAgree).
  int next_tag() { return next_tag(tags_, 0); }
  int next_tag_of_request() { return next_tag(tags_of_requests_, 1 + for_asides); }
  /// Added to it, one for its messages aside (schedule/schedule.h): where two ranks do not agree
  /// whether there is one, it is not taken for another, nor another one for it.
  static constexpr int for_asides = 1;

  /// How this member waits; a test has its own way.
  void (*until)(wait::Awaited&) = wait::until;
  Area area;  ///< false: none, the collectives of this communicator go by messages
  const node::Link context_block;  ///< the communicator's; 0: it has none
  const int rank;
  bool exposes = true;  ///< large blocks (exposed.h); the same at all members
  /// … and inputs of long reductions, by thread ranks of one host; the same at all members
  bool exposes_inputs = uses(Heuristic::exposed_inputs);
  bool in_words = false;     ///< all ranks of the job are threads, see Area
  bool in_host = false;      ///< … and of one host
  bool takes_turns = false;  ///< this member is a thread rank
  /// Members on this member's worker, itself included, that arrive together; 1: it arrives alone.
  int gathered = 1;
  int worker = 0;  ///< index of its worker's Gathering: in the node
  std::uint64_t epoch = 0;
  std::uint64_t known_left = 0;  ///< all members have left all epochs below
  bool knows_edges = false;
  std::unique_ptr<const by_nodes::Edges> edges;  ///< by_nodes/edges.h

 private:
  struct InUse {
    node::Link place;
    std::size_t bytes;
    std::uint64_t epoch;
    int reader;
  };
  bool is_read(const InUse& used) const;
  static int next_tag(int& series, int first);

  std::vector<InUse> in_use_;
  int tags_ = 0;
  int tags_of_requests_ = 0;
};

/// Makes it at first use. Rank's lock held. When the communicator is gone, it leaves the context as
/// soon as its deposits have been read: they go back to where they came from, whoever is the last.
State& state_of(Communicator& comm);

}  // namespace coll
}  // namespace meantime
