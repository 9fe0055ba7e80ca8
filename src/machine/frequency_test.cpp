#include "machine/frequency.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "machine/made_up_files.h"
#include "machine/small_file.h"

namespace meantime::machine {
namespace {

namespace fs = std::filesystem;

/// Three clocks: CPUs 0 and 1 share one, 2 and 3 have one each.
class FrequenciesOf : public MadeUpFiles {
 protected:
  void SetUp() override {
    MadeUpFiles::SetUp();
    policy(0, "0 1");
    policy(2, "2");
    policy(3, "3");
  }

  [[nodiscard]] std::string folder(int number) const {
    return root_ + "/sys/devices/system/cpu/cpufreq/policy" + std::to_string(number);
  }
  void policy(int number, const std::string& cpus) const {
    fs::create_directories(folder(number));
    std::ofstream(folder(number) + "/affected_cpus") << cpus << " \n";
    std::ofstream(folder(number) + "/scaling_max_freq") << "2400000\n";
    std::ofstream(folder(number) + "/cpuinfo_min_freq") << "1000000\n";
  }
  [[nodiscard]] std::string now(int number) const {
    return first_line(folder(number) + "/scaling_max_freq");
  }
  static std::vector<cpu_set_t> cpus_of(const std::vector<std::vector<int>>& ranks) {
    std::vector<cpu_set_t> masks;
    for (const std::vector<int>& cpus : ranks) {
      CPU_ZERO(&masks.emplace_back());
      for (const int cpu : cpus) {
        CPU_SET(cpu, &masks.back());
      }
    }
    return masks;
  }
};

TEST_F(FrequenciesOf, AClockIsLowWhileAllItsRanksRequestIt) {
  Frequencies frequencies;
  ASSERT_EQ(frequencies.prepare(Knob::max_freq, cpus_of({{0}, {1}, {2, 3}}), root_), "");
  EXPECT_EQ(frequencies.request(0, true), "");
  EXPECT_EQ(now(0), "2400000");
  EXPECT_EQ(frequencies.request(1, true), "");
  EXPECT_EQ(now(0), "1000000");
  EXPECT_EQ(now(2), "2400000");
  EXPECT_EQ(frequencies.request(2, true), "");
  EXPECT_EQ(now(2), "1000000");
  EXPECT_EQ(now(3), "1000000");
  EXPECT_EQ(frequencies.request(0, false), "");
  EXPECT_EQ(now(0), "2400000");
  EXPECT_EQ(frequencies.request(0, true), "");
  EXPECT_EQ(now(0), "1000000");
  EXPECT_EQ(frequencies.times_lowered(), 4u);
  EXPECT_EQ(frequencies.undo(), "");
  for (const int number : {0, 2, 3}) {
    EXPECT_EQ(now(number), "2400000");
  }
  EXPECT_EQ(frequencies.request(0, false), "");  // whatever comes late
  EXPECT_EQ(frequencies.request(0, true), "");
  EXPECT_EQ(now(0), "2400000");
}

TEST_F(FrequenciesOf, OthersClocksAreLeftAlone) {
  Frequencies frequencies;
  ASSERT_EQ(frequencies.prepare(Knob::max_freq, cpus_of({{1}, {2}}), root_), "");
  EXPECT_EQ(frequencies.request(0, true), "");
  EXPECT_EQ(frequencies.request(1, true), "");
  EXPECT_EQ(now(0), "2400000");  // CPU 0 is somebody else's
  EXPECT_EQ(now(2), "1000000");
  EXPECT_EQ(now(3), "2400000");
}

TEST_F(FrequenciesOf, WhatWasThereComesBackWhateverItWas) {
  std::ofstream(folder(2) + "/scaling_max_freq") << "1234567\n";
  Frequencies frequencies;
  ASSERT_EQ(frequencies.prepare(Knob::max_freq, cpus_of({{2}, {3}}), root_), "");
  frequencies.request(0, true);
  frequencies.request(1, true);
  frequencies.restore();
  EXPECT_EQ(now(2), "1234567");
  frequencies.request(0, true);  // it is not the end
  EXPECT_EQ(now(2), "1000000");
  EXPECT_EQ(frequencies.undo(), "");
  EXPECT_EQ(now(2), "1234567");
}

TEST_F(FrequenciesOf, TheOtherProcessUndoesForOneThatWasKilled) {
  Frequencies frequencies;
  ASSERT_EQ(frequencies.prepare(Knob::max_freq, cpus_of({{2}, {3}}), root_), "");
  const pid_t worker = fork();
  if (worker == 0) {
    frequencies.request(1, true);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(worker, &status, 0), worker);
  EXPECT_EQ(now(3), "1000000");
  EXPECT_EQ(frequencies.undo(), "");
  EXPECT_EQ(now(3), "2400000");
}

TEST_F(FrequenciesOf, AKernelThatRefusesIsToldOfOnce) {
  Frequencies frequencies;
  ASSERT_EQ(frequencies.prepare(Knob::max_freq, cpus_of({{2}, {3}}), root_), "");
  ASSERT_EQ(frequencies.request(0, true), "");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit none{0, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &none);
  const std::string problem = frequencies.request(1, true);
  const std::string again = frequencies.request(1, true);
  const std::string undone = frequencies.undo();
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_NE(problem.find("/policy2/scaling_max_freq cannot be set back to 2400000: File too large"),
            std::string::npos)
      << problem;
  EXPECT_EQ(again, "");
  EXPECT_NE(undone, "");
  EXPECT_EQ(frequencies.undo(), "");  // now it can be
  EXPECT_EQ(now(2), "2400000");
  EXPECT_EQ(now(3), "2400000");
}

TEST_F(FrequenciesOf, OneJobAtATime) {
  Frequencies first;
  Frequencies second;
  ASSERT_EQ(first.prepare(Knob::max_freq, cpus_of({{2}}), root_), "");
  EXPECT_NE(second.prepare(Knob::max_freq, cpus_of({{2}}), root_).find("in use by another job"),
            std::string::npos);
  EXPECT_FALSE(second.prepared());
  EXPECT_EQ(second.prepare(Knob::max_freq, cpus_of({{3}}), root_), "");
}

TEST_F(FrequenciesOf, ForgottenOnesAreFreeForAnotherJob) {
  Frequencies first;
  Frequencies second;
  ASSERT_EQ(first.prepare(Knob::max_freq, cpus_of({{2}}), root_), "");
  first.forget_all();
  EXPECT_FALSE(first.prepared());
  EXPECT_EQ(first.request(0, true), "");
  EXPECT_EQ(now(2), "2400000");
  EXPECT_EQ(second.prepare(Knob::max_freq, cpus_of({{2}}), root_), "");
}

}  // namespace
}  // namespace meantime::machine
