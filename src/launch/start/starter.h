// Starting the ranks of a job: what they inherit is made here, once for all or one by one.
#pragma once

#include <sys/resource.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/job.h"
#include "launch/start/environment.h"
#include "launch/start/spawn.h"
#include "launch/supervise/label.h"
#include "net/board.h"

namespace meantime::launch {

class Starter {
 public:
  explicit Starter(Job& job) : job_(job) {}

  /// What all ranks share: the segments, the lifeline, limits. Empty, or one line why not.
  std::string prepare();

  /// Starts one rank and fills in its RankProcess. Empty, or one line why not.
  std::string start_rank(int rank);

  /// Makes a task that has come a rank. Empty, or one line why not.
  std::string welcome_task(int rank);

  /// The same for all ranks of a host at once; fills in its ThreadHost.
  std::string start_host(int number);

  /// To be called once all ranks are started.
  void forward_output();
  /// Readable once all output has been passed on; -1 if that does not need us.
  [[nodiscard]] int output_done() const { return labeler_ ? labeler_->done() : -1; }
  /// Waits until then. After the last process of the job is gone. The errno by which output was
  /// lost, or 0.
  int finish_output();

  struct Failure {
    int status;  ///< mpiexec's
    std::string line;
  };
  /// Of a rank that has ended, or of the host of this first rank: why its process never became its
  /// program, if that is so. Then the whole job is a mistake.
  [[nodiscard]] std::optional<Failure> failed_start(int rank) const;
  /// Of each node; none before `prepare`.
  [[nodiscard]] const std::vector<int>& segments() const { return segments_; }
  /// What it was, if it was raised: for what is started.
  [[nodiscard]] const std::optional<rlimit>& descriptor_limit() const { return descriptor_limit_; }
  /// Of the ranks' addresses; nullptr: there is none.
  [[nodiscard]] net::Board* board() { return board_ < 0 ? nullptr : &board_of_addresses_; }
  [[nodiscard]] int segment_of(int rank) const {
    return segments_.empty() ? -1 : segments_[static_cast<std::size_t>(job_.ranks[rank].node)];
  }

 private:
  std::string make_segments();
  std::string raise_descriptor_limit();
  [[nodiscard]] std::size_t place_of(int rank) const;
  static machine::WakeUpCost wake_up_cost(const Job& job);
  void choose_signals();
  struct Channel {
    int ours;
    int theirs;
  };
  std::string make_channel(Channel& channel, int& lifeline);
  [[nodiscard]] int new_lifeline() const;
  void inherit(Spawn& child, const PreparedProgram& program, int rank) const;

  Job& job_;
  std::vector<int> segments_;
  int board_ = -1;  ///< of a job with several nodes
  net::Board board_of_addresses_;
  int no_input_ = -1;
  int lifeline_read_ = -1;
  RankDescriptors known_as_{};  ///< reserved numbers, the same in every rank
  std::optional<rlimit> descriptor_limit_;
  std::vector<int> ignored_;
  std::vector<int> defaulted_;
  std::vector<RankEnvironment> environments_;  ///< by program
  /// By (first) rank: read by the children as they start.
  std::vector<std::unique_ptr<Spawn>> spawns_;
  std::unique_ptr<Labeler> labeler_;
};

}  // namespace meantime::launch
