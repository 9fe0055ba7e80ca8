#include "guest/function.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <ctime>
#include <exception>

#include "base/clock.h"
#include "settings/load_library.h"

namespace meantime::guest {
namespace {

/// A slice is too long if it is so many times as long as it should be …
constexpr std::uint64_t too_long_times = 10;
/// … and then there is none for so many times its length: that costs a hundredth at most.
constexpr std::uint64_t pause_times = 100;
constexpr std::uint64_t for_ever = ~std::uint64_t{0};
/// That the end of the work waits for.
constexpr std::uint64_t longest_slice_ns = 1'000'000'000;

template <class T>
T* symbol(void* library, const char* name) {
  return reinterpret_cast<T*>(dlsym(library, name));
}

}  // namespace

std::string Function::load(const std::string& path, node::GuestWork& account) {
  void* library = nullptr;
  if (std::string refusal = settings::load_library(path, &library); !refusal.empty()) {
    return refusal;
  }
  work_ = symbol<void()>(library, "do_extrawork");
  if (work_ == nullptr) {
    return "it has no function do_extrawork";
  }
  last_account_ = &account;
  finish_ = symbol<void()>(library, "finish_extrawork");
  units_ = symbol<volatile unsigned long>(library, "extrawork_units");
  if (const auto* const threads = symbol<int>(library, "extrawork_threads")) {
    many_ = *threads != 0;
  }
  if (auto* const slice = symbol<unsigned long>(library, "extrawork_slice_ns")) {
    *slice = slice_ns_;
  }
  if (auto* const setup = symbol<void()>(library, "setup_extrawork")) {
    catching(*setup);
  }
  return {};
}

// Whoever enters counts itself in, then looks whether it is over; `finish` says so, then looks who
// is in: one of the two sees the other.
bool Function::enter() {
  const int others = inside_.fetch_add(1, std::memory_order_seq_cst);
  if (over_.load(std::memory_order_seq_cst) || (others != 0 && !many_)) {
    inside_.fetch_sub(1, std::memory_order_release);
    return false;
  }
  return true;
}

std::uint64_t Function::slice(std::uint64_t& now_ns, node::GuestWork& account) {
  if (over_.load(std::memory_order_relaxed)) {
    return for_ever;
  }
  if (const std::uint64_t pause = pause_until_ns_.load(std::memory_order_relaxed); now_ns < pause) {
    return pause;
  }
  account.in_slice.store(1, std::memory_order_relaxed);
  const bool goes_on = catching(*work_);
  account.in_slice.store(0, std::memory_order_relaxed);
  if (!goes_on) {
    return for_ever;
  }
  const std::uint64_t after_ns = meantime::now_ns();
  const std::uint64_t took_ns = after_ns - now_ns;
  now_ns = after_ns;
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
  return 0;
}

void Function::leave(node::GuestWork& account) {
  note_units(account);
  inside_.fetch_sub(1, std::memory_order_release);
}

void Function::finish() {
  if (!over_.exchange(true, std::memory_order_seq_cst) && finish_ != nullptr) {
    // A worker may be in a slice whose rank has been woken and is through already.
    const std::uint64_t until = meantime::now_ns() + longest_slice_ns;
    while (inside_.load(std::memory_order_seq_cst) != 0 && meantime::now_ns() < until) {
      const timespec pause{0, 20'000};
      nanosleep(&pause, nullptr);
    }
    catching(*finish_);
    note_units(*last_account_);
  }
}

/// Those since the last time are of who has that account; at the same time of some other.
void Function::note_units(node::GuestWork& account) {
  if (units_ != nullptr) {
    const std::uint64_t units = *units_;
    std::uint64_t noted = noted_units_.load(std::memory_order_relaxed);
    if (units > noted &&
        noted_units_.compare_exchange_strong(noted, units, std::memory_order_relaxed)) {
      account.units.fetch_add(units - noted, std::memory_order_relaxed);
    }
    last_account_ = &account;
  }
}

/// False: it threw, and will not be called any more.
bool Function::catching(void (&function)()) {
  const auto ended_by = [this](const char* exception) {
    over_.store(true);
    threw(exception);
  };
  try {
    call(function);
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

}  // namespace meantime::guest
