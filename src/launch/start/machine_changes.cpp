#include "launch/start/machine_changes.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "launch/cli/notes.h"
#include "machine/dma_latency.h"

namespace meantime::launch {
namespace {

/// What marks a folder as a tree that a test has made.
constexpr char test_mark[] = "/meantime-test-machine";

machine::Knob knob_of(const std::string& word) {
  return word == "epp"        ? machine::Knob::epp
         : word == "setspeed" ? machine::Knob::setspeed
                              : machine::Knob::max_freq;
}

/// The CPU of each worker, by its number in the node. They have one each if there are as many as
/// CPUs of the mask (scheduling/thread_host.cpp).
std::string cpus_of_workers(const Job& job, std::vector<cpu_set_t>& bindings) {
  if (!job.all_threads()) {
    return "this job has process ranks beside its thread ranks, whose workers have no CPUs of "
           "their own then";
  }
  const int workers = job.runners();
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  const int cpus = CPU_COUNT(&mask);
  if (workers > cpus) {
    return fmt::format("{} workers of thread ranks share {} CPUs", workers, cpus);
  }
  if (workers < cpus) {
    return fmt::format(
        "{} worker{} of thread ranks run{} on any of {} CPUs: only as many workers "
        "as CPUs are bound to them",
        workers, workers == 1 ? "" : "s", workers == 1 ? "s" : "", cpus);
  }
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      bindings.push_back(one);
    }
  }
  return {};
}

/// Why this job's ranks have no clocks of their own; else their CPUs.
std::string cpus_of_ranks(const Job& job, std::vector<cpu_set_t>& bindings) {
  if (!job.hosts.empty()) {
    return cpus_of_workers(job, bindings);
  }
  if (job.command.binding != Binding::hwthread && job.command.binding != Binding::core &&
      job.command.binding != Binding::user) {
    return "the ranks are not bound to cores of their own (--bind-to core)";
  }
  bindings = job.bindings;
  if (ranks_share(bindings, static_cast<int>(job.ranks.size()))) {
    return fmt::format("{} ranks share {} cores", job.ranks.size(), bindings.size());
  }
  bindings.resize(job.ranks.size());
  return {};
}

std::string prepare_frequencies(Job& job) {
  const std::string word = job.setting("MEANTIME_FREQUENCY");
  const bool asked = !word.empty() && word != "none";
  const bool countdown = job.setting("MEANTIME_ENERGY") == "countdown";
  if (!asked) {
    return countdown ? "MEANTIME_ENERGY=countdown lowers nothing: MEANTIME_FREQUENCY says how"
                     : std::string();
  }
  if (!countdown) {
    // A file's, which is for many jobs; or a lock takes countdown away, which has been said; else
    // contradictions.cpp refuses it.
    return job.asked_for("MEANTIME_FREQUENCY") && job.setting("MEANTIME_MACHINE") == "require"
               ? "frequencies stay as they are: MEANTIME_ENERGY=countdown is locked away"
               : std::string();
  }
  std::vector<cpu_set_t> bindings;
  std::string problem = cpus_of_ranks(job, bindings);
  problem = problem.empty() ? job.frequencies.prepare(knob_of(word), bindings, job.machine_root)
                            : problem;
  return problem.empty() ? problem : "frequencies stay as they are: " + problem;
}

std::string prepare_latency(Job& job) {
  const settings::Setting& setting = *settings::find("MEANTIME_CPU_DMA_LATENCY");
  const auto microseconds = settings::number(setting, job.setting(setting.name));
  if (!microseconds) {
    return {};
  }
  job.latency_hold = machine::hold_dma_latency(static_cast<int>(*microseconds), job.machine_root);
  return job.latency_hold >= 0
             ? std::string()
             : fmt::format("idle states stay as they are: {}/dev/cpu_dma_latency: {}",
                           job.machine_root, std::strerror(-job.latency_hold));
}

/// The folder that stands for the machine's root, "" but in Meantime's own tests. One line if it
/// may not.
std::string find_machine_root(Job& job) {
  job.machine_root = job.setting("MEANTIME_TEST_MACHINE");
  const std::string mark = job.machine_root + test_mark;
  struct stat status {};
  if (job.machine_root.empty() ||
      (job.machine_root.starts_with('/') && lstat(mark.c_str(), &status) == 0 &&
       S_ISREG(status.st_mode) && status.st_uid == geteuid())) {
    return {};
  }
  return fmt::format("MEANTIME_TEST_MACHINE is for Meantime's tests: '{}' is no file of yours",
                     mark);
}

}  // namespace

std::string prepare_machine(Job& job) {
  if (std::string problem = find_machine_root(job); !problem.empty()) {
    return problem;
  }
  const bool required = job.setting("MEANTIME_MACHINE") == "require";
  struct Change {
    std::string (*prepare)(Job& job);
    bool is_news;  ///< asked for by somebody who may be waiting for it
  };
  // Looking costs nothing, so the one that changes something comes last.
  const Change changes[] = {{prepare_frequencies, job.asked_for("MEANTIME_ENERGY") ||
                                                      job.asked_for("MEANTIME_FREQUENCY")},
                            {prepare_latency, job.asked_for("MEANTIME_CPU_DMA_LATENCY")}};
  for (const Change& change : changes) {
    const std::string line = change.prepare(job);
    if (required && !line.empty()) {
      return line + " (MEANTIME_MACHINE=require)";
    }
    note(job, line, change.is_news);
  }
  return {};
}

}  // namespace meantime::launch
