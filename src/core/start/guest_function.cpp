#include "core/start/guest_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/clock.h"
#include "core/error/abort.h"
#include "core/error/remark.h"
#include "core/start/settings.h"
#include "guest/function.h"
#include "node/segment.h"
#include "protocol/control.h"
#include "rank/rank.h"
#include "settings/shown.h"
#include "sleep/idle_work.h"

namespace meantime::core {
namespace {

constexpr std::uint64_t for_ever = ~std::uint64_t{0};

class GuestFunction final : public wait::IdleWork, public guest::Function {
 public:
  GuestFunction(const Rank& first, std::uint64_t slice_ns)
      : guest::Function(slice_ns), first_(first) {
    // Whatever of MPI a guest calls finds that it is no rank.
    guest_.world_rank = first.world_rank;
    guest_.world_size = first.world_size;
    guest_.control = first.control;
    guest_.phase.store(Phase::guest);
  }

  std::uint64_t run(const std::atomic<std::uint32_t>& word, std::uint32_t asleep,
                    std::uint64_t until_ns, node::GuestWork& account) override {
    if (!enter()) {
      return for_ever;
    }
    const node::Header& header = node::segment().header();
    std::uint64_t now = now_ns();
    std::uint64_t again = 0;
    while (again == 0 && word.load(std::memory_order_acquire) == asleep && now < until_ns) {
      const std::uint64_t rest =
          std::max(header.rest_until_ns.load(std::memory_order_relaxed),
                   header.without_guests_until_ns.load(std::memory_order_relaxed));
      again = now < rest ? rest : slice(now, account);
    }
    leave(account);
    return again;
  }

 private:
  void call(void (&function)()) override {
    Rank* const rank = std::exchange(detail::current_rank, &guest_);
    struct Back {
      Rank* rank;
      ~Back() { detail::current_rank = rank; }
    } back{rank};
    function();
  }

  void threw(const char* exception) override {
    remark(
        first_, "guest function",
        settings::shown_lines(fmt::format(
            "the guest function threw an exception ({}): it is not called any more", exception)));
  }

  const Rank& first_;
  Rank guest_;
};

GuestFunction* guest_function = nullptr;

void refuse_exit() {
  if (in_guest_work()) {
    abort_job(1, fmt::format("rank {}: the guest function called exit", self().world_rank));
  }
}

}  // namespace

std::string start_guest_function(const Rank& first) {
  const char* const path = std::getenv(launch::guest_function_variable);
  if (path == nullptr || *path == '\0' || guest_function != nullptr) {
    return {};
  }
  const settings::Setting& row = *settings::find("MEANTIME_GUEST_SLICE");
  const std::uint64_t slice_us =
      settings::number(row, setting(row.name)).value_or(*settings::number(row, row.preset));
  auto* const made = new GuestFunction(first, 1000 * slice_us);
  std::atexit(refuse_exit);
  if (const std::string refusal =
          made->load(path, node::segment().area(first.world_rank).account.guest_work);
      !refusal.empty()) {
    return fmt::format("the guest function '{}' is not loaded: {}", settings::shown_path(path),
                       refusal);
  }
  guest_function = made;
  wait::idle_work() = made;
  return {};
}

void finish_guest_function() {
  if (guest_function != nullptr) {
    wait::idle_work() = nullptr;
    guest_function->finish();
  }
}

bool in_guest_work() {
  return self().phase.load(std::memory_order_relaxed) == Phase::guest;
}

unsigned long guest_lateness_ns() {
  return guest_function == nullptr ? 0 : guest_function->slice_ns() / 2;
}

}  // namespace meantime::core
