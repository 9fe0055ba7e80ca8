#include "core/start/hang_report.h"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "deadlock/deadlock.h"
#include "deadlock/location_hook.h"
#include "deadlock/report.h"
#include "deadlock/room.h"
#include "node/control_client.h"
#include "node/segment.h"
#include "protocol/call_names.h"
#include "protocol/control.h"
#include "rank/rank.h"
#include "rank/sleeping_call.h"
#include "settings/terminal.h"
#include "symbolize/symbolized_text.h"

namespace meantime::core {
namespace {

/// By way of mpiexec, which ends the job if it is to. If the program has closed the line to it, by
/// the exit status, with which mpiexec looks at what all do itself. Without it, here.
void tell_of_waiting(const std::string& what, bool for_ever) {
  node::Segment& segment = node::segment();
  Rank& rank = self();
  const std::string said = fmt::format("Meantime: {}:", what);
  const node::Segment* const nodes[] = {&segment};
  const std::string hint = wait::describe_room(nodes, call_name);
  const bool ends = for_ever && segment.header().on_deadlock == 0;
  if (rank.control != nullptr && rank.control->connected() &&
      rank.control->deadlock(said, hint, for_ever)) {
    if (ends && rank.control->wait_to_be_ended()) {
      std::_Exit(launch::deadlock_status);
    }
    return;
  }
  if (ends && rank.control != nullptr) {
    std::_Exit(launch::deadlock_status);
  }
  const std::string text =
      fmt::format("{}\n{}{}", said, wait::describe_ranks(segment, call_name), hint);
  // A search along PATH is not for a program that has more rights than its user.
  const bool may_run_addr2line = getauxval(AT_SECURE) == 0;
  std::fputs(settings::laid_out(may_run_addr2line ? launch::symbolized(text) : text,
                                settings::page_of(STDERR_FILENO))
                 .c_str(),
             stderr);
  if (ends) {
    std::_Exit(launch::deadlock_status);
  }
}

}  // namespace

void tell_of_deadlock() {
  if (node::has_other_nodes(node::segment().header())) {
    if (Rank& rank = self(); rank.control != nullptr) {
      rank.control->still();
    }
    return;
  }
  if (node::segment().header().ending.exchange(1, std::memory_order_acq_rel) != 1) {
    if (wait::location_hook != nullptr) {
      usleep(2 * wait::location_after_ns / 1000);  // until each has said where it is
    }
    tell_of_waiting(node::segment().header().wanting.load() != 0
                        ? "memory is full: every rank waits in MPI, and some need shared memory"
                        : launch::deadlock_found,
                    true);
  }
}

void tell_of_stillness(int awake) {
  if (node::has_other_nodes(node::segment().header())) {
    return;  // ranks of other nodes may move
  }
  std::atomic<std::uint32_t>& told = node::segment().header().ending;
  std::uint32_t nothing = 0;
  if (told.load(std::memory_order_relaxed) != nothing) {
    return;
  }
  const std::vector<int> ranks = wait::ranks_that_may_be_woken(awake);
  if (ranks.empty()) {
    return;  // one of their threads has moved just now
  }
  if (!told.compare_exchange_strong(nothing, 2, std::memory_order_acq_rel)) {
    return;
  }
  const std::size_t others = ranks.size() - 1;
  const bool neighbours = ranks.back() - ranks.front() == static_cast<int>(others);
  const std::string who = others == 0 ? fmt::format("rank {} has", ranks.front())
                          : neighbours
                              ? fmt::format("ranks {}-{} have", ranks.front(), ranks.back())
                              : fmt::format("rank {} and {} more rank{} have", ranks.front(),
                                            others, others == 1 ? "" : "s");
  tell_of_waiting(
      fmt::format("perhaps a deadlock: for {} s every rank has waited in MPI and nobody "
                  "has moved, but {} other threads (or generalized requests) that may "
                  "wake one",
                  wait::still_ns / 1'000'000'000, who),
      false);
}

void tell_of_lack(int world_rank) {
  node::Header& header = node::segment().header();
  std::uint32_t nothing = 0;
  if (header.on_deadlock != 2 &&
      header.ending.compare_exchange_strong(nothing, 2, std::memory_order_acq_rel)) {
    tell_of_waiting(fmt::format("memory is full: rank {} has lacked some for {} s", world_rank,
                                wait::still_ns / 1'000'000'000),
                    false);
  }
}

void tell_of_held_up(int world_rank, int thread) {
  const std::string call = ranks::sleeping_call(thread);
  std::fputs(
      fmt::format("Meantime: rank {} sleeps in the kernel and holds up the other thread ranks "
                  "of its core{}{}; they go on beside it (said once)\n",
                  world_rank, call.empty() ? "" : ", in ", call)
          .c_str(),
      stderr);
}

}  // namespace meantime::core
