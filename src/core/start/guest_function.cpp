#include "core/start/guest_function.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <utility>

#include "base/clock.h"
#include "core/error/abort.h"
#include "core/error/remark.h"
#include "core/start/library.h"
#include "core/start/settings.h"
#include "node/segment.h"
#include "protocol/control.h"
#include "rank/rank.h"
#include "settings/shown.h"
#include "sleep/idle_work.h"

namespace meantime::core {
namespace {

/// A slice is too long if it is so many times as long as it should be …
constexpr std::uint64_t too_long_times = 10;
/// … and then there is none for so many times its length: that costs a hundredth at most.
constexpr std::uint64_t pause_times = 100;
constexpr std::uint64_t for_ever = ~std::uint64_t{0};

using Function = void();

class GuestFunction final : public wait::IdleWork {
 public:
  GuestFunction(const Rank& first, std::uint64_t slice_ns)
      : first_(first),
        slice_ns_(slice_ns),
        last_account_(&node::segment().area(first.world_rank).account.guest_work) {
    // Whatever of MPI a guest calls finds that it is no rank.
    guest_.world_rank = first.world_rank;
    guest_.world_size = first.world_size;
    guest_.control = first.control;
    guest_.phase.store(Phase::guest);
  }

  std::string load(const std::string& path) {
    void* library = nullptr;
    if (std::string refusal = load_library(path, &library); !refusal.empty()) {
      return refusal;
    }
    work_ = reinterpret_cast<Function*>(dlsym(library, "do_extrawork"));
    if (work_ == nullptr) {
      return "it has no function do_extrawork";
    }
    finish_ = reinterpret_cast<Function*>(dlsym(library, "finish_extrawork"));
    units_ = static_cast<volatile unsigned long*>(dlsym(library, "extrawork_units"));
    if (auto* const threads = static_cast<const int*>(dlsym(library, "extrawork_threads"))) {
      many_ = *threads != 0;
    }
    if (auto* const slice = static_cast<unsigned long*>(dlsym(library, "extrawork_slice_ns"))) {
      *slice = slice_ns_;
    }
    if (auto* const setup = reinterpret_cast<Function*>(dlsym(library, "setup_extrawork"))) {
      call(*setup);
    }
    return {};
  }

  std::uint64_t run(const std::atomic<std::uint32_t>& word, std::uint32_t asleep,
                    std::uint64_t until_ns, node::GuestWork& account) override {
    if (over_.load(std::memory_order_relaxed)) {
      return for_ever;
    }
    if (!many_ && busy_.exchange(true, std::memory_order_acquire)) {
      return for_ever;
    }
    const std::uint64_t again_ns = slices(word, asleep, until_ns, account);
    note_units(account);
    if (!many_) {
      busy_.store(false, std::memory_order_release);
    }
    return again_ns;
  }

  void finish() {
    if (!over_.exchange(true) && finish_ != nullptr) {
      call(*finish_);
      note_units(*last_account_);
    }
  }

  [[nodiscard]] std::uint64_t slice_ns() const { return slice_ns_; }

 private:
  /// Those since the last time are of who has that account; at the same time of some other.
  void note_units(node::GuestWork& account) {
    if (units_ != nullptr) {
      const std::uint64_t units = *units_;
      account.units.fetch_add(units - noted_units_.exchange(units, std::memory_order_relaxed),
                              std::memory_order_relaxed);
      last_account_ = &account;
    }
  }

  std::uint64_t slices(const std::atomic<std::uint32_t>& word, std::uint32_t asleep,
                       std::uint64_t until_ns, node::GuestWork& account) {
    const node::Header& header = node::segment().header();
    std::uint64_t now = now_ns();
    while (word.load(std::memory_order_acquire) == asleep && now < until_ns) {
      const std::uint64_t not_before =
          std::max(pause_until_ns_.load(std::memory_order_relaxed),
                   header.rest_until_ns.load(std::memory_order_relaxed));
      if (now < not_before) {
        return not_before;
      }
      account.in_slice.store(1, std::memory_order_relaxed);
      const bool goes_on = call(*work_);
      account.in_slice.store(0, std::memory_order_relaxed);
      if (!goes_on) {
        return for_ever;
      }
      const std::uint64_t after = now_ns();
      note(account, after - now, after);
      now = after;
    }
    return 0;
  }

  void note(node::GuestWork& account, std::uint64_t took_ns, std::uint64_t after_ns) {
    account.slices.fetch_add(1, std::memory_order_relaxed);
    account.ns.fetch_add(took_ns, std::memory_order_relaxed);
    if (took_ns > account.longest_ns.load(std::memory_order_relaxed)) {
      account.longest_ns.store(took_ns, std::memory_order_relaxed);
    }
    // One alone may be the machine's doing.
    const bool is_long = took_ns > too_long_times * slice_ns_;
    if (was_long_.exchange(is_long, std::memory_order_relaxed) && is_long) {
      account.too_long.fetch_add(1, std::memory_order_relaxed);
      pause_until_ns_.store(after_ns + pause_times * took_ns, std::memory_order_relaxed);
    }
  }

  /// False: it threw, and will not be called any more.
  bool call(Function& function) {
    Rank* const rank = std::exchange(detail::current_rank, &guest_);
    struct Back {
      Rank* rank;
      ~Back() { detail::current_rank = rank; }
    } back{rank};
    try {
      function();
      return true;
    } catch (const abi::__forced_unwind&) {
      throw;
    } catch (const std::exception& exception) {
      ended_by(exception.what());
    } catch (...) {
      ended_by("of an unknown type");
    }
    return false;
  }

  void ended_by(const char* exception) {
    over_.store(true);
    remark(
        first_, "guest function",
        settings::shown_lines(fmt::format(
            "the guest function threw an exception ({}): it is not called any more", exception)));
  }

  const Rank& first_;
  const std::uint64_t slice_ns_;
  Rank guest_;
  Function* work_ = nullptr;
  Function* finish_ = nullptr;
  volatile unsigned long* units_ = nullptr;
  std::atomic<std::uint64_t> noted_units_{0};
  std::atomic<node::GuestWork*> last_account_;
  bool many_ = false;
  std::atomic<bool> busy_{false};
  std::atomic<bool> over_{false};
  std::atomic<bool> was_long_{false};
  std::atomic<std::uint64_t> pause_until_ns_{0};
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
  if (const std::string refusal = made->load(path); !refusal.empty()) {
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
