// Lower frequencies for CPUs whose ranks wait, and back again, through the kernel's cpufreq files.
//   domain   CPUs that share a clock: one folder policyN
//   knob     which of its files is written
//   normal   what that file said when it was locked: it is written back, whatever it was
//   request  of a rank: that its CPUs be slow; a domain is lowered while all ranks on its CPUs ask
//            for it. Of thread ranks it is the workers that have CPUs and ask: read `worker` for
//            rank
// Only domains all of whose CPUs belong to this job's ranks are touched, one job at a time (a lock
// on the file). Several processes have this object after forks: one works with it, the others undo
// it if that one is killed. A domain is marked as lowered, in memory that all share, before it is,
// and unmarked after it has been restored: so each of them can undo once the worker is gone.
// Nothing here is written in a rank.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace meantime::machine {

enum class Knob : std::uint8_t {
  max_freq,  ///< scaling_max_freq: down to the hardware's least; under any governor
  setspeed,  ///< scaling_setspeed: down to the policy's least; governor `userspace` only
  epp,       ///< energy_performance_preference: "power"
};

class Frequencies {
 public:
  Frequencies() = default;
  ~Frequencies();
  Frequencies(const Frequencies&) = delete;
  Frequencies& operator=(const Frequencies&) = delete;

  /// Looks at the files and locks them; changes nothing. `masks`: the CPUs of each rank. `root`:
  /// the folder that has /sys in it, "" but for tests. One line why it cannot be done, else empty.
  std::string prepare(Knob knob, const std::vector<cpu_set_t>& masks, const std::string& root);
  [[nodiscard]] bool prepared() const { return !domains_.empty(); }
  /// As if never prepared; another job may have the files. Only while nothing is lowered.
  void forget_all();

  /// A rank (an index of `masks`) requests its CPUs slow, or no longer; -1: nobody. One line if
  /// that cannot be done, once: then all is undone, and nothing is lowered any more.
  std::string request(int rank, bool low);
  /// All domains back to normal, for now.
  void restore();
  /// The same for good; another job may have them now. One line if a domain cannot be restored;
  /// empty if all is as it was.
  std::string undo();

  /// For people: what was done until now.
  [[nodiscard]] std::string summary() const;
  /// How often a domain was lowered, and for how long, over all domains.
  [[nodiscard]] std::uint64_t times_lowered() const { return times_lowered_; }
  [[nodiscard]] double seconds_lowered() const { return seconds_lowered_; }

 private:
  struct Domain {
    std::string file;
    std::string normal;
    std::string low;
    std::vector<int> ranks;
    int descriptor = -1;
    double lowered_since = 0;
  };

  std::string add_domain(const std::string& folder, const std::vector<cpu_set_t>& masks,
                         const cpu_set_t& all);
  std::string lower(std::size_t domain);
  std::string normalise(std::size_t domain);
  bool share_marks();

  Knob knob_ = Knob::max_freq;
  std::vector<Domain> domains_;
  std::vector<bool> requests_;                  ///< by rank
  std::atomic<std::uint8_t>* marks_ = nullptr;  ///< by domain, shared by all processes
  bool closed_ = false;
  std::uint64_t times_lowered_ = 0;
  double seconds_lowered_ = 0;
};

}  // namespace meantime::machine
