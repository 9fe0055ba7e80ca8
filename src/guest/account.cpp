#include "guest/account.h"

#include <fmt/format.h>

#include <sstream>

namespace meantime::guest {
namespace {

constexpr std::string_view remark_word = "remark ";
constexpr int no_end = -1;

}  // namespace

std::string account_text(const Account& account) {
  std::string text =
      fmt::format("all {} {} {} {}\n", account.cpu_seconds, account.keeper_cpu_seconds,
                  account.seconds, account.ending_seconds);
  for (const GuestAccount& guest : account.guests) {
    text += fmt::format("guest {} {} {} {}\n", guest.starts, guest.wait_status.value_or(no_end),
                        guest.cpu_seconds, guest.units);
  }
  return text;
}

std::string account_for_people(const Account& account) {
  std::uint64_t units = 0;
  std::string lines;
  for (std::size_t number = 0; number < account.guests.size(); ++number) {
    const GuestAccount& one = account.guests[number];
    units = sum(units, one.units);
    lines += fmt::format("\n  guest {}: {:.3f} s, {} units", number, one.cpu_seconds, one.units);
  }
  return fmt::format("{} guest{} had {:.3f} s of CPU time in {:.3f} s: {} units{}",
                     account.guests.size(), account.guests.size() == 1 ? "" : "s",
                     account.cpu_seconds, account.seconds, units, lines);
}

std::string remark_text(std::string_view line) {
  return fmt::format("{}{}\n", remark_word, line);
}

std::string so_far_text(const SoFar& so_far) {
  return fmt::format("so_far {} {} {}\n", so_far.cpu_ns, so_far.units, so_far.running);
}

std::optional<std::string> Listener::take(const std::string& line) {
  if (line.starts_with(remark_word)) {
    return line.substr(remark_word.size());
  }
  std::istringstream words(line);
  std::string kind;
  words >> kind;
  if (kind == "all") {
    words >> account_.cpu_seconds >> account_.keeper_cpu_seconds >> account_.seconds >>
        account_.ending_seconds;
  } else if (kind == "so_far") {
    words >> so_far_.cpu_ns >> so_far_.units >> so_far_.running;
  } else if (kind == "guest") {
    GuestAccount guest;
    int wait_status = no_end;
    words >> guest.starts >> wait_status >> guest.cpu_seconds >> guest.units;
    if (wait_status != no_end) {
      guest.wait_status = wait_status;
    }
    account_.guests.push_back(guest);
  }
  return std::nullopt;
}

}  // namespace meantime::guest
