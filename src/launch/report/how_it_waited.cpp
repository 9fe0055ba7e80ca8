#include "launch/report/how_it_waited.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "launch/report/equal_ranks.h"
#include "launch/report/json.h"
#include "policy/policy.h"
#include "settings/as_started.h"

namespace meantime::launch {
namespace {

using ledger::ChangedBy;
using ledger::ChangeFigures;

constexpr int most_values_in_a_line = 3;
constexpr int most_values_in_json = 16;

/// Who made a change: the ranks by number, as one that all made need not be a list of thousands.
struct Makers {
  std::size_t ranks = 0;
  std::size_t first = 0;
};

std::map<ChangeFigures, Makers> changes_of_all(const ledger::Figures& figures) {
  std::map<ChangeFigures, Makers> all;
  for (std::size_t rank = 0; rank < figures.ranks.size(); ++rank) {
    for (const ChangeFigures& change : figures.ranks[rank].changes) {
      Makers& makers = all.try_emplace(change, Makers{0, rank}).first->second;
      ++makers.ranks;
    }
  }
  return all;
}

/// Of a setting that is changed again and again (a controller's) a few values tell as much as all.
struct FewChanges {
  std::vector<std::pair<ChangeFigures, Makers>> shown;
  std::size_t left_out = 0;  ///< more values, and what the ranks did not note
};

FewChanges changes_of_all(const ledger::Figures& figures, int most_values) {
  FewChanges few;
  std::map<std::tuple<ChangedBy, std::string>, int> values;
  for (const auto& change : changes_of_all(figures)) {
    if (++values[{change.first.by, change.first.what}] <= most_values) {
      few.shown.push_back(change);
    } else {
      ++few.left_out;
    }
  }
  for (const ledger::RankFigures& rank : figures.ranks) {
    few.left_out += rank.changes_left_out;
  }
  return few;
}

std::string words_for(const Makers& makers, std::size_t ranks) {
  return makers.ranks == ranks ? (ranks == 1 ? "rank 0" : "all ranks")
         : makers.ranks == 1   ? fmt::format("rank {}", makers.first)
                               : fmt::format("{} ranks", makers.ranks);
}

const char* by_what(ChangedBy by) {
  switch (by) {
    case ChangedBy::rank:
      return "rank";
    case ChangedBy::communicator:
      return "communicator";
    case ChangedBy::handler:
      return "handler";
  }
  return "rank";
}

/// What mpiexec gave the ranks of each program, and a rank may have found otherwise.
std::vector<std::string> of_ranks(const Job& job,
                                  std::string (*words)(const settings::ValueOf& value),
                                  std::string (*found)(const RankProcess& rank)) {
  std::vector<std::string> given;
  for (const PreparedProgram& program : job.programs) {
    given.push_back(
        words([&](std::string_view name) { return job.setting(name, program.request); }));
  }
  std::vector<std::string> all;
  for (const RankProcess& rank : job.ranks) {
    const std::string own = found(rank);
    all.push_back(own.empty() ? given[static_cast<std::size_t>(rank.program)] : own);
  }
  return all;
}

/// "adaptive; rank 3: poll; ranks 4-7: event": what the first rank has is that of the others,
/// unless they are named.
std::string words_by_rank(const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> others;
  for (std::size_t rank = 1; rank < words.size(); ++rank) {
    if (words[rank] == words.front()) {
      continue;
    }
    auto place = std::find_if(others.begin(), others.end(),
                              [&](const auto& other) { return other.first == words[rank]; });
    if (place == others.end()) {
      place = others.insert(others.end(), {words[rank], {}});
    }
    place->second.push_back(rank);
  }
  std::string text = words.front();
  for (const auto& [way, ranks] : others) {
    text += fmt::format("; rank{} {}: {}", ranks.size() == 1 ? "" : "s", list_of_ranks(ranks), way);
  }
  return text;
}

std::string json_change(const ChangeFigures& change) {
  return fmt::format(R"("by": "{}", "what": {}, "value": {})", by_what(change.by),
                     quoted(change.what), change.value.empty() ? "null" : quoted(change.value));
}

}  // namespace

std::vector<std::string> ways_of_ranks(const Job& job) {
  return of_ranks(job, settings::way_to_wait,
                  [](const RankProcess& rank) { return rank.way_to_wait; });
}

std::vector<std::string> energy_policies_of_ranks(const Job& job) {
  return of_ranks(job, settings::energy_policy,
                  [](const RankProcess& rank) { return rank.energy_policy; });
}

/// Looks that take longer than a wake-up.
constexpr std::uint64_t many_tries = 1000;

std::string crowded_polling(const Job& job) {
  const bool any = std::any_of(
      job.command.programs.begin(), job.command.programs.end(), [&](const ProgramRequest& program) {
        std::string problem;
        const wait::PolicySettings given = wait::policy_settings_from(
            [&](std::string_view name) { return job.setting(name, program); }, &problem);
        const wait::Policy policy = wait::make_policy(given, true);
        return policy.round != 0 || policy.knobs.tries_poll > many_tries;
      });
  if (!any || job.runners() <= job.cpus.workers) {
    return {};
  }
  return fmt::format(
      "ranks poll, and there are {} for {} CPU{}: one that polls keeps those from running that it "
      "waits for; --wait adaptive, the default, does not",
      job.runners(), job.cpus.workers, job.cpus.workers == 1 ? "" : "s");
}

bool asked_to_poll(const Job& job) {
  return job.asked_for("MEANTIME_WAIT") || job.asked_for("MEANTIME_TRIES_POLL") ||
         job.asked_for("MEANTIME_TIMEOUT");
}

std::string energy_policy_line(const Job& job) {
  const std::string text = words_by_rank(energy_policies_of_ranks(job));
  return text == "none" ? std::string() : "energy policy: " + text + "\n";
}

std::string wait_line(const Job& job) {
  const std::string text = "waiting: " + words_by_rank(ways_of_ranks(job));
  const std::string note = crowded_polling(job);
  return text + "\n" + (note.empty() ? note : "note: " + note + "\n");
}

std::string changes_line(const ledger::Figures& figures) {
  const FewChanges few = changes_of_all(figures, most_values_in_a_line);
  std::string text;
  for (const auto& [change, makers] : few.shown) {
    text += fmt::format("{}{}{} ({})", text.empty() ? "" : "; ", change.what,
                        change.value.empty() ? "" : "=" + change.value,
                        (change.by == ChangedBy::communicator ? "a communicator of " : "") +
                            words_for(makers, figures.ranks.size()));
  }
  text += few.left_out != 0 ? fmt::format("; and {} more", few.left_out) : "";
  return text.empty() ? text : "changed while it ran: " + text + "\n";
}

std::string json_changes(const ledger::Figures& figures) {
  const FewChanges few = changes_of_all(figures, most_values_in_json);
  std::string text;
  for (const auto& [change, makers] : few.shown) {
    text += fmt::format("{}{{{}, \"ranks\": {}}}", text.empty() ? "" : ", ", json_change(change),
                        makers.ranks);
  }
  return fmt::format("[{}], \"changed_left_out\": {}", text, few.left_out);
}

std::string json_changes(const ledger::RankFigures& rank) {
  std::string text;
  for (const ChangeFigures& change : rank.changes) {
    text += fmt::format("{}{{{}}}", text.empty() ? "" : ", ", json_change(change));
  }
  return fmt::format("[{}], \"changed_left_out\": {}", text, rank.changes_left_out);
}

}  // namespace meantime::launch
