// A bound on what guests cost a job (`--max-overhead`), kept by trial.
//   progress   a number that grows with the job's work and not with time: its MPI calls, but for
//              tests in vain
//   trial      a time without guests and one with them, one right after the other, whichever first
//              by chance: how much more progress a second there is without
//   cost       the median of the last trials; for how far they agree, two of them on either side of
//              it (binomial: the true one is between them 19 of 20 times)
// Trials follow each other, so that guests have half of the time, until the cost is known to be
// within the bound; then there is one now and then. If it is known to be beyond the bound, there
// are no guests for a while, twice as long each time, and all is forgotten: what comes may be
// another part of the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace meantime::guest {

class Bound {
 public:
  /// `most`: of the job's time, 0.01 is a hundredth. `seed`: of what is left to chance.
  Bound(double most, std::uint64_t seed) : most_(most), chance_(seed | 1) {}

  /// So long guests run, or do not, unless the job ends.
  struct Block {
    bool guests = false;
    double seconds = 0;
  };
  /// The last block is over; the next one. `now` in seconds, of any clock that does not jump.
  Block next(double now, std::uint64_t progress);
  /// There are no blocks until `next` is called again: the job is stopped, or over. The one that
  /// was going on is no part of a trial.
  void end(double now);

  struct Cost {
    double median = 0;
    double least = 0;
    double most = 0;
  };
  /// Of the trials since guests were last stopped for it; nothing if these are too few.
  [[nodiscard]] std::optional<Cost> cost() const;
  /// Of all.
  [[nodiscard]] int trials() const { return trials_; }
  [[nodiscard]] int times_beyond() const { return times_beyond_; }
  [[nodiscard]] double seconds_without() const { return seconds_without_; }

 private:
  enum class Part { none, first, second, between };

  Block begin(Part part, bool guests, double seconds, double now, std::uint64_t progress);
  Block first_of_trial(double now, std::uint64_t progress);
  Block after_trial(double now, std::uint64_t progress);
  bool coin();

  const double most_;
  std::uint64_t chance_;
  Part part_ = Part::none;
  Block block_;
  double began_ = 0;
  std::uint64_t progress_ = 0;
  double trial_seconds_ = 0.02;  ///< of each half
  double rate_[2] = {0, 0};      ///< without guests, and with
  std::uint64_t fewest_ = 0;     ///< progress in the two halves
  std::vector<double> last_;     ///< trials' costs, a ring
  std::size_t next_ = 0;
  int trials_ = 0;
  int times_beyond_ = 0;
  double seconds_without_ = 0;
};

/// "cost: 0.3 % of the run time (-0.2 to 0.8); 30 trials, without guests for 1.2 s".
std::string cost_line(const Bound& bound);

}  // namespace meantime::guest
