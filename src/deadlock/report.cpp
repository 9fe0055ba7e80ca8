#include "deadlock/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.h"
#include "deadlock/scheduled.h"
#include "deadlock/test_loop_note.h"
#include "node/memory_map.h"
#include "node/process.h"
#include "node/segment.h"
#include "node/words.h"
#include "settings/shown.h"

namespace meantime::wait {
namespace {

using node::RankState;

double seconds_since(std::uint64_t then_ns) {
  const std::uint64_t now = now_ns();
  return now > then_ns ? static_cast<double>(now - then_ns) * 1e-9 : 0;
}

std::string communicator_name(const node::Report& report) {
  const std::uint32_t context = report.context.load() & ~1u;
  const std::string words = node::read_words(report.name);
  const bool is_name = !words.starts_with(node::no_name);
  // A program chose it: it must not look like a line of ours.
  const std::string name = settings::shown(words.substr(is_name ? 0 : 1), settings::any_length);
  switch (context) {
    case 0:
      return "";
    case 2:
    case 4:
      return fmt::format(" on {}", name);
    default:
      return name.empty() ? fmt::format(" on a communicator (context {})", context)
             : is_name    ? fmt::format(" on communicator '{}'", name)
                          : fmt::format(" on {} (context {})", name, context);
  }
}

std::string called_from(int pid, std::uint64_t site) {
  // The call, not what follows.
  return site == 0 ? "" : fmt::format(", called from {}", node::code_location(pid, site - 1));
}

std::string location_of(const node::Report& report, int pid) {
  const std::string place = node::read_words(report.location);
  return place.empty() ? called_from(pid, report.call_site.load())
                       : ", called from " + settings::shown(place, settings::any_length);
}

std::string describe_wait(const node::Report& report, int pid, CallName call_name) {
  std::string text =
      fmt::format("waits in {}", call_name(static_cast<std::uint16_t>(report.call.load())));
  const std::int32_t peer = report.peer.load();
  const std::int32_t world_peer = report.world_peer.load();
  const std::int32_t tag = report.tag.load();
  const std::uint32_t requests = report.requests.load();
  if (requests > 1) {
    text += fmt::format(" for {} requests", requests);
    text += peer != node::no_peer || report.context.load() != 0 ? ", the first" : "";
  }
  if (peer != node::no_peer) {
    // The ABI's wildcards are negative; a user's ranks and tags never are.
    text += peer < 0 ? " for any rank" : fmt::format(" for rank {}", world_peer);
    if (tag != node::no_tag) {
      text += tag < 0 ? ", any tag" : fmt::format(", tag {}", tag);
    }
  }
  text += communicator_name(report);
  if (peer >= 0 && peer != world_peer) {
    text += fmt::format(" (rank {} there)", peer);
  }
  return text + location_of(report, pid) +
         fmt::format(", for {:.1f} s", seconds_since(report.since_ns.load()));
}

/// "asks again and again: MPI_Test, called from stencil+0x1234, for 2.0 s": the same between two
/// naps (`asked`: a TestLoopNote) and in one (a Report).
template <class Asked>
std::string describe_test_loop(const Asked& asked, const std::string& place, CallName call_name) {
  return fmt::format("asks again and again: {}{}, for {:.1f} s",
                     call_name(static_cast<std::uint16_t>(asked.call.load())), place,
                     seconds_since(asked.since_ns.load()));
}

bool is_testing(const node::TestLoopNote& note) {
  const std::uint64_t asked = note.noted_ns.load(std::memory_order_acquire);
  return asked != 0 && now_ns() <= asked + note_lasts_ns;
}

/// A thread rank that is in no wait may still not be running.
std::string describe_turn(const node::RankArea& area) {
  const std::optional<Scheduled> turn = scheduled(area);
  if (!turn || turn->state == ranks::State::running) {
    return "is not waiting in MPI";
  }
  return turn->state == ranks::State::offloaded
             ? "is beside its worker, in a system call or long out of MPI (not in a wait)"
             : "could run (not in a wait), its worker runs another rank";
}

std::string describe_beginning(const node::RankArea& area) {
  const std::optional<Scheduled> turn = scheduled(area);
  if (!turn) {
    return "has not called MPI_Init";
  }
  return turn->state == ranks::State::offloaded   ? "has not called MPI_Init, is beside its worker"
         : turn->state == ranks::State::finalized ? "has ended without MPI_Init"
         : turn->begun                            ? "has not called MPI_Init"
                                                  : "has not begun";
}

}  // namespace

std::string describe_lack(const node::Segment& segment) {
  const std::string limit = node::what_limits(segment.header().full_because.load());
  return fmt::format("all {} KiB of shared memory are in use{}",
                     segment.header().heap_end.load() / 1024,
                     limit.empty() ? "" : fmt::format(": {}", limit));
}

std::string location_of_call(const void* call_site) {
  return node::code_location(getpid(), reinterpret_cast<std::uint64_t>(call_site) - 1);
}

std::string describe_ranks(const node::Segment& segment, CallName call_name) {
  std::string text;
  const auto ranks = static_cast<int>(segment.header().ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    const node::RankArea& area = segment.area(rank);
    const int pid = node::pid_here(area);
    std::string state;
    switch (static_cast<RankState>(area.report.state.load(std::memory_order_acquire))) {
      case RankState::absent:
        state = describe_beginning(area);
        break;
      case RankState::running:
        state =
            is_testing(area.test_loop)
                ? describe_test_loop(area.test_loop,
                                     called_from(pid, area.test_loop.call_site.load()), call_name)
                : describe_turn(area);
        break;
      case RankState::waiting:
        if (area.napping.load() != 0) {
          state = describe_test_loop(area.report, location_of(area.report, pid), call_name);
          break;
        }
        state = describe_wait(area.report, pid, call_name);
        if (area.wants_memory.load() != 0) {
          state += "; it needs shared memory for that";
        } else if (area.starving.load() != 0) {
          state += "; messages that nobody receives leave it no room";
        }
        break;
      case RankState::away:
      case RankState::finalized:
        state = "has finalized";
        break;
    }
    if (const int own = area.pid.load(); own != 0) {
      text += fmt::format("  rank {} (pid {}{}) {}\n", rank, own,
                          pid == 0 ? " in its own namespace" : "", state);
    } else {
      text += fmt::format("  rank {} {}\n", rank, state);
    }
  }
  return text;
}

}  // namespace meantime::wait
