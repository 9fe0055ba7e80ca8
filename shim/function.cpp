#include "shim/function.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "settings/shown.h"
#include "shim/guests.h"
#include "shim/steal_words.h"

namespace meantime::shim {
namespace detail {
constinit thread_local bool in_slice = false;
}
namespace {

class OwnFunction final : public guest::Function {
 public:
  using guest::Function::Function;

 private:
  void call(void (&function)()) override {
    struct Back {
      Back() { detail::in_slice = true; }
      ~Back() { detail::in_slice = false; }
    } back;
    function();
  }

  void threw(const char* exception) override {
    say(fmt::format("the guest function threw an exception ({}): it is not called any more",
                    exception));
  }
};

OwnFunction* own = nullptr;
node::GuestWork account;

void refuse_exit() {
  if (in_slice()) {
    end_for("exit");
  }
}

}  // namespace

void start_function() {
  const char* const path = std::getenv(function_variable);
  if (path == nullptr || own != nullptr) {
    return;
  }
  if (ranks_share_cpus()) {
    if (is_first_of_its_node()) {
      say("no guest function: it is for ranks that have a CPU each, and here they share some");
    }
    return;
  }
  const char* const slice = std::getenv(slice_variable);
  auto* const made = new OwnFunction(slice != nullptr ? std::strtoull(slice, nullptr, 10) : 10'000);
  std::atexit(refuse_exit);
  if (const std::string refusal = made->load(path, account); !refusal.empty()) {
    say(fmt::format("the guest function '{}' is not loaded: {}", path, refusal));
    return;
  }
  own = made;
}

void finish_function() {
  if (own != nullptr) {
    own->finish();
  }
}

guest::Function* function() {
  return own;
}

node::GuestWork& function_account() {
  return account;
}

void end_for(const char* what) {
  detail::in_slice = false;
  say(fmt::format("the guest function called {}", what));
  _exit(1);
}

}  // namespace meantime::shim
