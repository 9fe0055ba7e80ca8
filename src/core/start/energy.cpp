#include "core/start/energy.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/lock.h"
#include "core/error/callback.h"
#include "core/error/remark.h"
#include "core/object/tables.h"
#include "core/start/settings.h"
#include "node/control_client.h"
#include "node/segment.h"
#include "node/words.h"
#include "protocol/call_names.h"
#include "protocol/control.h"
#include "rank/rank.h"
#include "scheduling/countdown.h"
#include "settings/load_library.h"
#include "settings/shown.h"
#include "wait/advisor.h"

namespace meantime::core {
namespace {

/// Longer than any sleep it could save.
constexpr std::uint64_t long_answer_ns = 1'000'000;
constexpr int slow_answers = 3;
/// Longer than the kernel takes a core away for.
constexpr std::uint64_t very_long_answer_ns = 200'000'000;
constexpr int very_slow_answers = 2;  // one may be a job that was stopped for a while

struct Slowness {
  int in_a_row = 0;
  int very_slow = 0;
};

class Handler final : public wait::Advisor {
 public:
  Handler(MPIX_Energy_function* enter, MPIX_Energy_function* leave, void* argument)
      : enter_(enter), leave_(leave), argument_(argument) {}

  std::optional<wait::Step> next(const wait::Question& question) override {
    if (enter_ == nullptr) {
      return std::nullopt;
    }
    const MPIX_Energy_info info = info_of(question);
    const std::uint64_t began = now_ns();
    const int answer = call_user(MPIX_ENERGY_DEFAULT, [&] { return enter_(&info, argument_); });
    took(question.world_rank, now_ns() - began, slow_, "for an answer");
    switch (answer) {
      case MPIX_ENERGY_DEFAULT:
        return std::nullopt;
      case MPIX_ENERGY_POLL:
        return wait::Step::poll;
      case MPIX_ENERGY_YIELD:
        return wait::Step::yield;
      case MPIX_ENERGY_SLEEP:
        return wait::Step::park;
      default:
        break;
    }
    if (!std::exchange(tables().energy_complaints.nonsense, true)) {
      complain(question.world_rank,
               fmt::format("answered {}, which is none of MPIX_ENERGY_DEFAULT, _POLL, _YIELD and "
                           "_SLEEP; taken as MPIX_ENERGY_DEFAULT",
                           answer));
    }
    return std::nullopt;
  }

  /// From now on neither function is called, so that the program may free what they need.
  void replaced() override { enter_ = leave_ = nullptr; }

  void over(const wait::Question& question) override {
    if (leave_ != nullptr) {
      const MPIX_Energy_info info = info_of(question);
      const std::uint64_t began = now_ns();
      call_user(0, [&] { return leave_(&info, argument_); });
      took(question.world_rank, now_ns() - began, slow_at_the_end_, "at the end of a wait");
    }
  }

 private:
  static MPIX_Energy_info info_of(const wait::Question& question) {
    const wait::Situation& situation = question.situation;
    MPIX_Energy_info info{};
    info.size = sizeof info;
    info.rank = question.world_rank;
    info.peer = situation.world_peer == node::no_peer ? MPI_PROC_NULL : situation.world_peer;
    info.channel = question.channel == wait::Channel::direct_copy ? MPIX_ENERGY_DIRECT_COPY
                                                                  : MPIX_ENERGY_SHARED_MEMORY;
    info.call = call_name(static_cast<std::uint16_t>(situation.call));
    const bool named = situation.name != nullptr && !situation.name->starts_with(node::no_name);
    info.communicator = named ? situation.name->c_str() : "";
    info.call_site = situation.call_site;
    info.bytes = static_cast<MPI_Count>(situation.bytes);
    info.turns = static_cast<MPI_Count>(question.turns);
    info.waited = static_cast<double>(question.waited_ns) * 1e-9;
    info.last_wait = static_cast<double>(question.last_wait_ns) * 1e-9;
    info.shared_cores = question.shared_cores ? 1 : 0;
    info.busy = static_cast<double>(question.busy_ns) * 1e-9;
    info.last_busy = static_cast<double>(question.last_busy_ns) * 1e-9;
    return info;
  }

  static void took(int rank, std::uint64_t ns, Slowness& slowness, const char* what_for) {
    slowness.in_a_row = ns > long_answer_ns ? slowness.in_a_row + 1 : 0;
    slowness.very_slow += ns > very_long_answer_ns ? 1 : 0;
    const bool in_a_row = slowness.in_a_row == slow_answers;
    const bool very_slow = ns > very_long_answer_ns && slowness.very_slow == very_slow_answers;
    if ((in_a_row || very_slow) && !std::exchange(tables().energy_complaints.slow, true)) {
      complain(rank, fmt::format("took {:.1f} ms {}, for the {}", static_cast<double>(ns) * 1e-6,
                                 what_for, in_a_row ? "3rd time in a row" : "2nd time so long"));
    }
  }

  static void complain(int rank, const std::string& text) {
    std::fputs(
        fmt::format("Meantime: rank {}: the energy handler {} (said once)\n", rank, text).c_str(),
        stderr);
  }

  MPIX_Energy_function* enter_;
  MPIX_Energy_function* leave_;
  void* const argument_;
  Slowness slow_;  ///< its answers
  Slowness slow_at_the_end_;
};

/// The library of this process: loaded once, for all of its ranks.
struct Library {
  Mutex mutex;
  bool tried MEANTIME_GUARDED_BY(mutex) = false;
  std::string refusal MEANTIME_GUARDED_BY(mutex);
  MPIX_Energy_function* enter MEANTIME_GUARDED_BY(mutex) = nullptr;
  MPIX_Energy_function* leave MEANTIME_GUARDED_BY(mutex) = nullptr;
};

Library& library() {
  static auto& library = *new Library;
  return library;
}

void remember(const std::string& path) {
  node::Segment& segment = node::segment();
  const node::Link place = segment.grow(path.size() + 1);
  if (place != 0) {
    std::memcpy(segment.at<char>(place), path.c_str(), path.size() + 1);
    segment.header().energy_handler.store(place, std::memory_order_release);
  }
}

std::string load(const std::string& path, Library& loaded) MEANTIME_REQUIRES(loaded.mutex) {
  void* handle = nullptr;
  if (std::string refusal = settings::load_library(path, &handle); !refusal.empty()) {
    return refusal;
  }
  loaded.enter = reinterpret_cast<MPIX_Energy_function*>(dlsym(handle, "meantime_energy_enter"));
  loaded.leave = reinterpret_cast<MPIX_Energy_function*>(dlsym(handle, "meantime_energy_leave"));
  if (loaded.enter == nullptr) {
    return "it has no function meantime_energy_enter";
  }
  if (node::segment().header().energy_handler.load(std::memory_order_relaxed) == 0) {
    remember(path);
  }
  return {};
}

/// Requests go to mpiexec, and only if that can follow them (launch/start/machine_changes.h).
bool mpiexec_follows() {
  return std::getenv(launch::frequency_variable) != nullptr;
}

std::uint64_t countdown_ns() {
  const settings::Setting& row = *settings::find("MEANTIME_COUNTDOWN");
  return settings::number(row, setting(row.name)).value_or(*settings::number(row, row.preset)) *
         1000;
}

/// Of a process rank; a thread rank's worker does it.
std::shared_ptr<wait::Advisor> countdown(const Rank& rank) {
  if (!mpiexec_follows() || rank.control == nullptr || rank.fiber != nullptr) {
    return nullptr;
  }
  return wait::countdown(countdown_ns(),
                         [line = rank.control](bool low) { return line->frequency(low); });
}

void take_place(Rank& rank, std::shared_ptr<wait::Advisor> advisor) {
  if (rank.advisor != nullptr) {
    rank.advisor->replaced();
  }
  rank.advisor = std::move(advisor);
}

std::string follow_settings(Rank& rank) {
  const std::string path = setting("MEANTIME_ENERGY_HANDLER");
  const std::string policy = setting("MEANTIME_ENERGY");
  if (path.empty() || path == "none") {
    take_place(rank, policy == "countdown" ? countdown(rank) : wait::ready_advisor(policy));
    return {};
  }
  if (!policy.empty() && policy != "none") {
    return "MEANTIME_ENERGY and MEANTIME_ENERGY_HANDLER are both set; one policy is all there can "
           "be";
  }
  Library& loaded = library();
  const LockGuard guard(loaded.mutex);
  if (!loaded.tried) {
    loaded.refusal = load(path, loaded);
    loaded.tried = true;
  }
  if (!loaded.refusal.empty()) {
    return fmt::format("MEANTIME_ENERGY_HANDLER '{}' is not loaded: {}", settings::shown_path(path),
                       loaded.refusal);
  }
  use_energy_handler(rank, loaded.enter, loaded.leave, nullptr);
  return {};
}

}  // namespace

std::string energy_handlers_locked_by() {
  const std::string where = locked_by(*settings::find("MEANTIME_ENERGY"));
  return !where.empty() ? where : locked_by(*settings::find("MEANTIME_ENERGY_HANDLER"));
}

void use_energy_handler(Rank& rank, MPIX_Energy_function* enter, MPIX_Energy_function* leave,
                        void* argument) {
  take_place(rank, std::make_shared<Handler>(enter, leave, argument));
}

void refuse_energy_handler(const Rank& rank, const std::string& locked_by) {
  remark(rank, "energy handler",
         fmt::format("the program's energy handler is not taken: {}, locked", locked_by));
}

void drop_energy_handler(Rank& rank) {
  follow_settings(rank);
}

std::string start_energy(Rank& rank) {
  return follow_settings(rank);
}

void start_energy_of_workers(const std::shared_ptr<node::ControlClient>& line) {
  if (setting("MEANTIME_ENERGY") == "countdown" && mpiexec_follows()) {
    ranks::lower_idle_workers(
        countdown_ns(), [line](int worker, bool low) { return line->frequency(low, worker); });
  }
}

}  // namespace meantime::core
