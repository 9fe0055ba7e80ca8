// The hints of communicators (MPI 5.0 7.4.4): assertions that the user makes, which are kept and
// shown, though nothing relies on them yet; and how this rank waits in its calls on the
// communicator. A value that makes no sense, or for what the site has locked (which is told), is as
// one that was not given, as hints are.
#include <algorithm>
#include <iterator>
#include <memory>

#include "core/comm/communicator_make.h"
#include "core/object/info.h"
#include "core/object/memory_kinds.h"
#include "core/start/settings.h"
#include "ledger/changes.h"
#include "rank/rank.h"

namespace meantime::core {
namespace {

constexpr const char* assertions[] = {
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
};

struct WaitHint {
  const char* key;
  const char* setting;
};
constexpr WaitHint wait_hints[] = {
    {"meantime_wait", "MEANTIME_WAIT"},
    {"meantime_tries_poll", "MEANTIME_TRIES_POLL"},
    {"meantime_tries_yield", "MEANTIME_TRIES_YIELD"},
    {"meantime_timeout", "MEANTIME_TIMEOUT"},
};

void keep(Communicator& comm, const char* key, const std::string& value) {
  if (comm.info == nullptr) {
    comm.info = new Info;
  }
  comm.info->set(key, value);
}

/// Takes up what the hint says, if the site leaves that open and it makes sense beside what `given`
/// has already.
bool take_up(wait::PolicySettings& given, const WaitHint& hint, const std::string& value) {
  wait::PolicySettings changed = given;
  const settings::Setting& setting = *settings::find(hint.setting);
  if (!settings::problem(setting, value).empty() ||
      lock_overrules(self(), setting, value, std::string("a communicator's ") + hint.key) ||
      !changed.add(hint.setting, value).empty() ||
      !out_of_reach(changed, self().policy_settings).empty()) {
    return false;
  }
  given = changed;
  return true;
}

/// What the communicator says stands above what the rank says, and what it says now above what it
/// said before: earlier hints stay (MPI 5.0 7.4.4), but for those that have no meaning any more.
void set_wait_hints(Communicator& comm, const Info& info) {
  wait::PolicySettings given = self().policy_settings;
  bool any = false;
  bool taken[std::size(wait_hints)] = {};
  for (std::size_t index = 0; index < std::size(wait_hints); ++index) {
    const WaitHint& hint = wait_hints[index];
    const std::string* value = info.find(hint.key);
    if (value != nullptr && take_up(given, hint, *value)) {
      taken[index] = any = true;
    }
  }
  if (!any) {
    return;
  }
  for (std::size_t index = 0; index < std::size(wait_hints); ++index) {
    const WaitHint& hint = wait_hints[index];
    if (taken[index]) {
      const std::string& value = *info.find(hint.key);
      keep(comm, hint.key, value);
      if (value != as_started(*settings::find(hint.setting))) {
        ledger::note_change(*self().area, ledger::ChangedBy::communicator, hint.key, value);
      }
    } else if (const std::string* before =
                   comm.info != nullptr ? comm.info->find(hint.key) : nullptr;
               before != nullptr && !take_up(given, hint, *before)) {
      comm.info->remove(hint.key);
    }
  }
  comm.waiting = std::make_unique<wait::Policy>(wait::make_policy(given, wait::policy().crowded));
}

}  // namespace

void set_hints(Communicator& comm, const Info* info) {
  if (info == nullptr) {
    return;
  }
  for (const char* assertion : assertions) {
    const std::string* value = info->find(assertion);
    if (value != nullptr && (*value == "true" || *value == "false")) {
      keep(comm, assertion, *value);
    }
  }
  set_wait_hints(comm, *info);
}

void inherit_hints(Communicator& comm, const Communicator& from) {
  if (from.info != nullptr) {
    set_wait_hints(comm, *from.info);
  }
}

Info* visible_hints(const Communicator& comm) {
  Info* info = new Info;
  for (const char* assertion : assertions) {
    const std::string* value = comm.info != nullptr ? comm.info->find(assertion) : nullptr;
    info->set(assertion, value != nullptr ? *value : "false");
  }
  info->set(memory_kinds_key, memory_kinds_of(comm));
  for (const WaitHint& hint : wait_hints) {
    if (const std::string* value = comm.info != nullptr ? comm.info->find(hint.key) : nullptr) {
      info->set(hint.key, *value);
    }
  }
  return info;
}

}  // namespace meantime::core
