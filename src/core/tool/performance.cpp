#include "core/tool/performance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "ledger/layout.h"
#include "node/layout.h"
#include "node/segment.h"
#include "rank/counters.h"
#include "rank/rank.h"

namespace meantime::tool {
namespace {

/// One number of the rank's account; 0 before MPI is initialised.
template <std::atomic<std::uint64_t> node::Account::*member>
double number(const Rank& rank) {
  return rank.area == nullptr
             ? 0
             : static_cast<double>((rank.area->account.*member).load(std::memory_order_relaxed));
}

template <std::atomic<std::uint64_t> node::Account::*member>
double seconds(const Rank& rank) {
  return number<member>(rank) * 1e-9;
}

template <ledger::Activity activity>
double spent(const Rank& rank) {
  return rank.area == nullptr
             ? 0
             : static_cast<double>(rank.area->account.spent_ns[static_cast<int>(activity)].load(
                   std::memory_order_relaxed)) *
                   1e-9;
}

/// Of what a guest function did in this rank's sleeps.
template <std::atomic<std::uint64_t> node::GuestWork::*member>
double of_guest(const Rank& rank) {
  return rank.area == nullptr
             ? 0
             : static_cast<double>(
                   (rank.area->account.guest_work.*member).load(std::memory_order_relaxed));
}

double guest_time(const Rank& rank) {
  return of_guest<&node::GuestWork::ns>(rank) * 1e-9;
}

/// Of guests that are programs.
template <std::atomic<std::uint64_t> node::Header::*member>
double of_guests(const Rank& rank) {
  return rank.area == nullptr
             ? 0
             : static_cast<double>(
                   (node::segment().header().*member).load(std::memory_order_relaxed));
}

double guests_cpu_time(const Rank& rank) {
  return of_guests<&node::Header::guests_cpu_ns>(rank) * 1e-9;
}

double sleeps(const Rank& rank) {
  return rank.area == nullptr
             ? 0
             : static_cast<double>(rank.area->sleeps.load(std::memory_order_relaxed));
}

double collectives(const Rank& rank) {
  return rank.background;
}

using node::Account;

constexpr PerformanceVariable accounts[] = {
    {"meantime_waits", "waits in MPI that could not go on at once", MPI_T_PVAR_CLASS_COUNTER,
     number<&Account::waits>},
    {"meantime_wait_time", "wall-clock time in these waits, in seconds", MPI_T_PVAR_CLASS_TIMER,
     seconds<&Account::wait_ns>},
    {"meantime_parks", "how often a wait slept in the kernel", MPI_T_PVAR_CLASS_COUNTER,
     number<&Account::parks>},
    {"meantime_park_time", "time asleep in the kernel, in seconds", MPI_T_PVAR_CLASS_TIMER,
     spent<ledger::Activity::sleep>},
    {"meantime_poll_time", "time in these waits that was spent looking, in seconds",
     MPI_T_PVAR_CLASS_TIMER, spent<ledger::Activity::poll>},
    {"meantime_yield_time", "time in these waits that was spent giving the core away, in seconds",
     MPI_T_PVAR_CLASS_TIMER, spent<ledger::Activity::yield>},
    {"meantime_rings", "system calls made to wake other ranks", MPI_T_PVAR_CLASS_COUNTER,
     number<&Account::rings>},
    {"meantime_helped_messages",
     "from other nodes, taken in for this rank by a thread that is there for that",
     MPI_T_PVAR_CLASS_COUNTER, number<&Account::helped_messages>},
    {"meantime_helped_bytes", "that these, and those fetched meanwhile, had",
     MPI_T_PVAR_CLASS_COUNTER, number<&Account::helped_bytes>},
    {"meantime_carried_messages",
     "from other nodes, taken in for this rank by another one of its process that waited",
     MPI_T_PVAR_CLASS_COUNTER, number<&Account::carried_messages>},
    {"meantime_carried_bytes", "that these, and those fetched meanwhile, had",
     MPI_T_PVAR_CLASS_COUNTER, number<&Account::carried_bytes>},
    {"meantime_carried_far", "of those messages, from another NUMA node", MPI_T_PVAR_CLASS_COUNTER,
     number<&Account::carried_far>},
    {"meantime_helper_time", "CPU time of the thread that did so, in seconds",
     MPI_T_PVAR_CLASS_TIMER, seconds<&Account::helper_cpu_ns>},
    {"meantime_sleeps", "how often this rank fell asleep, also off its worker as a thread rank",
     MPI_T_PVAR_CLASS_COUNTER, sleeps},
    {"meantime_guest_time", "of the time asleep, a guest function had, in seconds",
     MPI_T_PVAR_CLASS_TIMER, guest_time},
    {"meantime_guest_slices", "calls of a guest function in this rank's sleeps",
     MPI_T_PVAR_CLASS_COUNTER, of_guest<&node::GuestWork::slices>},
    {"meantime_guest_units", "what it did there, as it counts itself", MPI_T_PVAR_CLASS_COUNTER,
     of_guest<&node::GuestWork::units>},
    {"meantime_guests_cpu_time",
     "of all guests of the job that are programs, in seconds, a second ago at most",
     MPI_T_PVAR_CLASS_TIMER, guests_cpu_time},
    {"meantime_guests_units", "what they did, as they count it themselves",
     MPI_T_PVAR_CLASS_COUNTER, of_guests<&node::Header::guests_units>},
    {"meantime_guests_running", "so many of them are there", MPI_T_PVAR_CLASS_LEVEL,
     of_guests<&node::Header::guests_running>},
    {"meantime_collectives_under_way", "non-blocking collectives that are not complete",
     MPI_T_PVAR_CLASS_LEVEL, collectives},
};

std::vector<PerformanceVariable> with_events() {
  std::vector<PerformanceVariable> all(std::begin(accounts), std::end(accounts));
  const auto events = ranks::counter_events();
  static auto& texts = *new std::deque<std::string>;
  const auto kept = [](std::string text) -> std::string_view {
    return texts.emplace_back(std::move(text));
  };
  for (int event = 0; event < static_cast<int>(events.size()); ++event) {
    const ranks::CounterEvent& each = events[static_cast<std::size_t>(event)];
    ranks::CounterFiles trial;
    if (trial.open(event) != 0) {
      continue;
    }
    for (const bool of_core : {false, true}) {
      all.push_back(
          {.name = kept(fmt::format("meantime_{}_{}", of_core ? "core" : "rank", each.variable)),
           .description = kept(
               fmt::format("{}, while {}", each.description,
                           of_core ? "any rank of this core runs that has started this variable"
                                   : "this rank runs")),
           .variable_class = MPI_T_PVAR_CLASS_COUNTER,
           .read = nullptr,
           .event = event,
           .of_core = of_core});
    }
  }
  return all;
}

}  // namespace

std::span<const PerformanceVariable> performance_variables() {
  // Never destroyed: tools may ask at the very end.
  static const auto& all = *new std::vector<PerformanceVariable>(with_events());
  return all;
}

PerformanceHandle::PerformanceHandle(const PerformanceVariable& of)
    : Object(object_kind), variable(of), started_(of.is_level()) {}

PerformanceHandle::~PerformanceHandle() {
  if (!variable.is_level()) {
    stop();
  }
}

/// The variable's own.
double PerformanceHandle::now() const {
  if (variable.event < 0) {
    return variable.read(self());
  }
  if (counted_ == nullptr) {
    return 0;
  }
  const ranks::CounterReading reading = ranks::read_tool_counter(*counted_, variable.event);
  return static_cast<double>(variable.of_core ? reading.core : reading.rank);
}

double PerformanceHandle::value() const {
  // (After MPI_Finalize there is no account any more.)
  return started_ ? added_ + std::max(0.0, now() - began_) : added_;
}

int PerformanceHandle::start() {
  if (variable.is_level()) {
    return MPI_T_ERR_PVAR_NO_STARTSTOP;
  }
  if (!started_) {
    if (variable.event >= 0) {
      counted_ = ranks::start_tool_counter(variable.event);
      if (counted_ == nullptr) {
        return MPI_T_ERR_PVAR_NO_STARTSTOP;  // it could be counted when the variables were listed
      }
    }
    began_ = now();
    started_ = true;
  }
  return MPI_SUCCESS;
}

int PerformanceHandle::stop() {
  if (variable.is_level()) {
    return MPI_T_ERR_PVAR_NO_STARTSTOP;
  }
  added_ = value();
  if (counted_ != nullptr) {
    ranks::stop_tool_counter(*counted_, variable.event);
    counted_.reset();
  }
  started_ = false;
  return MPI_SUCCESS;
}

int PerformanceHandle::reset() {
  if (variable.is_level()) {
    return MPI_T_ERR_PVAR_NO_WRITE;
  }
  added_ = 0;
  began_ = now();
  return MPI_SUCCESS;
}

int PerformanceHandle::write(const void* from) {
  if (const int error = reset(); error != MPI_SUCCESS) {
    return error;
  }
  if (variable.type() == MPI_DOUBLE) {
    std::memcpy(&added_, from, sizeof added_);
  } else {
    unsigned long long number;
    std::memcpy(&number, from, sizeof number);
    added_ = static_cast<double>(number);
  }
  return MPI_SUCCESS;
}

void PerformanceHandle::read(void* to) const {
  const double now = value();
  if (variable.type() == MPI_DOUBLE) {
    std::memcpy(to, &now, sizeof now);
  } else {
    const auto number = static_cast<unsigned long long>(now);
    std::memcpy(to, &number, sizeof number);
  }
}

}  // namespace meantime::tool
