#include "settings/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "settings/presets.h"
#include "settings/shown.h"

namespace meantime::settings {
namespace {

constexpr std::uint64_t terabyte = std::uint64_t{1} << 40;
constexpr std::string_view by_wait = "as MEANTIME_WAIT says";
constexpr std::array<std::string_view, 2> no_yes = {"0", "1"};
constexpr std::array<std::string_view, 5> energy_words = {"none", "performance", "balanced",
                                                          "powersave", "countdown"};
constexpr std::array<std::string_view, 4> frequency_words = {"none", "max_freq", "setspeed", "epp"};
constexpr std::array<std::string_view, 2> machine_words = {"try", "require"};
constexpr std::array<std::string_view, 1> none_word = {"none"};
constexpr std::array<std::string_view, 1> auto_word = {"auto"};
constexpr std::array<std::string_view, 2> missing_words = {"abort", "error"};
constexpr std::array<std::string_view, 3> helper_words = {"off", "auto", "on"};
constexpr std::array<std::string_view, 3> deadlock_words = {"abort", "report", "ignore"};

// clang-format off
constexpr Setting table[] = {
    {"MEANTIME_WAIT", Kind::word, Scope::live, "adaptive", wait::preset_names, 0, 0,
     "how a rank waits"},
    {"MEANTIME_TRIES_POLL", Kind::count, Scope::live, by_wait, {}, 0, infinity,
     "looks that find nothing before a rank yields or sleeps"},
    {"MEANTIME_TRIES_YIELD", Kind::count, Scope::live, by_wait, {}, 0, infinity,
     "looks with a sched_yield each before it sleeps"},
    {"MEANTIME_TIMEOUT", Kind::microseconds, Scope::live, by_wait, {}, 0, infinity,
     "how long it sleeps at most before it looks again; 0: it never sleeps"},
    {"MEANTIME_WAKE_UP_COST", Kind::microseconds, Scope::live, "auto", auto_word, 1, 10'000,
     "what waking a sleeper costs, of which adaptive polls for a few; auto: measured"},
    {"MEANTIME_ADE_STEP", Kind::microseconds, Scope::live, "50", {}, 1, 1'000'000,
     "--wait ade: by how much its sleep time changes (eta of TIMELORD)"},
    {"MEANTIME_ADE_THRESHOLD", Kind::microseconds, Scope::live, "5", {}, 0, 1'000'000,
     "--wait ade: what a wait must be shorter by to count as shorter (epsilon)"},
    {"MEANTIME_ENERGY", Kind::word, Scope::start, "none", energy_words, 0, 0,
     "a ready energy policy, asked in each wait in place of MEANTIME_WAIT"},
    {"MEANTIME_ENERGY_HANDLER", Kind::text, Scope::start, "none", {}, 0, 0,
     "absolute path of a shared library with an energy policy"},
    {"MEANTIME_COUNTDOWN", Kind::microseconds, Scope::start, "500", {}, 1, 1'000'000,
     "MEANTIME_ENERGY=countdown: a wait of so long asks for a lower frequency"},
    {"MEANTIME_FREQUENCY", Kind::word, Scope::start, "none", frequency_words, 0, 0,
     "what countdown lowers of the ranks' CPUs, where this user may"},
    {"MEANTIME_CPU_DMA_LATENCY", Kind::microseconds, Scope::start, "none", none_word, 0, 2'000'000'000,
     "no idle state of any CPU that takes longer to leave, while the job runs"},
    {"MEANTIME_MACHINE", Kind::word, Scope::start, "try", machine_words, 0, 0,
     "try: a job runs without what of these two cannot be had; require: it is refused"},
    {"MEANTIME_GUEST", Kind::text, Scope::start, "none", {}, 0, 0,
     "guest work: proc:COMMAND, func:LIBRARY, queue:FOLDER, or the name of a ready guest"},
    {"MEANTIME_GUEST_NUMBER", Kind::count, Scope::start, "one for each CPU that ranks run on", {}, 1, 1024,
     "guests of a job, at most"},
    {"MEANTIME_GUEST_MEMORY", Kind::bytes, Scope::start, "a quarter of the memory, divided by the guests", {}, 1024 * 1024, terabyte,
     "of a guest with its children, at most"},
    {"MEANTIME_GUEST_PROCESSES", Kind::count, Scope::start, "16", {}, 1, 1'000'000,
     "of a guest, itself counted, at most"},
    {"MEANTIME_GUEST_FILE", Kind::bytes, Scope::start, "1G", {}, 4096, terabyte,
     "the longest file that a guest writes, its log included"},
    {"MEANTIME_GUEST_GRACE", Kind::microseconds, Scope::start, "1000000", {}, 0, 3'600'000'000,
     "at the end of the job: from a guest's SIGINT to SIGTERM, and from that to SIGKILL"},
    {"MEANTIME_GUEST_SLICE", Kind::microseconds, Scope::start, "10", {}, 1, 1'000'000,
     "of a guest function: how long a call of it should take, for it to know; ten times that is too long"},
    {"MEANTIME_GUEST_OVERHEAD", Kind::count, Scope::start, "none", none_word, 1, 100,
     "what guests may cost the job, in % of its time: they are left out now and then to compare, and stopped where it is more"},
    {"MEANTIME_GUEST_FREEZE", Kind::word, Scope::start, "0", no_yes, 0, 0,
     "guests that are programs run only while ranks wait: as many as wait, on CPUs that the others leave"},
    {"MEANTIME_GUEST_AGAIN", Kind::word, Scope::start, "0", no_yes, 0, 0,
     "a guest that ends is started again"},
    {"MEANTIME_GUEST_LOG", Kind::text, Scope::start, "none", {}, 0, 0,
     "a folder: what guest N writes goes into guest-N.log there"},
    {"MEANTIME_EAGER_LIMIT", Kind::bytes, Scope::start, "8K, and up to 128K where that is quicker", {}, 0, 256 * 1024,
     "a message that is copied into a cell"},
    {"MEANTIME_EAGER_PAIR", Kind::bytes, Scope::start, "64M divided by the ranks, but 2M to 16M", {}, 0, terabyte,
     "cells of one sender that lie unread at one receiver"},
    {"MEANTIME_EAGER_RANK", Kind::bytes, Scope::start, "1G divided by the ranks, but 4M to 64M, and no less than EAGER_PAIR", {}, 0, terabyte,
     "cells of one sender everywhere"},
    {"MEANTIME_EAGER_MOST", Kind::bytes, Scope::start, "a quarter of the memory, 4G at most, divided by the ranks, and then 1G at most", {}, 0, terabyte,
     "to what both may grow while short messages are not read; 0: they do not"},
    {"MEANTIME_FRAGMENT", Kind::bytes, Scope::start, "128K", {}, 64 * 1024, terabyte,
     "the largest fragment of a direct copy, which has 64 at most"},
    {"MEANTIME_REMOTE_EAGER", Kind::bytes, Scope::start, "64K", {}, 0, 1024 * 1024,
     "a message that is sent to another node at once; longer ones are fetched by their receiver"},
    {"MEANTIME_HELPER", Kind::word, Scope::start, "auto", helper_words, 0, 0,
     "a thread that takes in what comes from other nodes while ranks compute: auto, what needs an answer; on, all that they have receives for"},
    {"MEANTIME_LOST_AFTER", Kind::count, Scope::start, "10", {}, 1, 3600,
     "seconds after which a node, or a connection between two, of which nothing is heard is lost, and ends the job"},
    {"MEANTIME_CMA", Kind::word, Scope::start, "1", no_yes, 0, 0,
     "cross-memory attach between processes, where it works"},
    {"MEANTIME_CHECKS", Kind::word, Scope::start, "1", no_yes, 0, 0,
     "wrong ranks, tags, counts and buffers are errors; 0: what they do is undefined"},
    {"MEANTIME_MISSING_CALLS", Kind::word, Scope::start, "abort", missing_words, 0, 0,
     "a call that is not there yet ends the job; error: its error handler is called"},
    {"MEANTIME_BACKTRACE", Kind::word, Scope::start, "1", no_yes, 0, 0,
     "a rank that crashes says where; 0: it just dies"},
    {"MEANTIME_ON_DEADLOCK", Kind::word, Scope::start, "abort", deadlock_words, 0, 0,
     "what to do when every rank waits for ever"},
    {"MEANTIME_REMOTE_SHELL", Kind::text, Scope::start, "ssh -x -o BatchMode=yes -o ConnectTimeout=10", {}, 0, 0,
     "what mpiexec --host starts ranks on other machines by: words, before the machine's name and a command"},
    {"MEANTIME_REPORT", Kind::text, Scope::start, "not set", {}, 0, 0,
     "1: as --report; a file: as --report=FILE"},
    {"MEANTIME_TEST_WIRE", Kind::text, Scope::test, "not set", {}, 0, 0,
     "LATENCY_US[:MB_PER_S][:interface] of a network that the node plays"},
    {"MEANTIME_TEST_NODES", Kind::count, Scope::test, "1", {}, 1, 1000,
     "nodes that the ranks of this machine stand for, in blocks"},
    {"MEANTIME_TEST_NAMESPACES", Kind::text, Scope::test, "not set", {}, 0, 0,
     "PID:FD,FD,... of a process that holds these nodes' network namespaces, as `meantime cluster` does"},
    {"MEANTIME_TEST_MACHINE", Kind::text, Scope::test, "not set", {}, 0, 0,
     "a folder that stands for / where mpiexec reads and changes the machine"},
    {"MEANTIME_TEST_MOST_MAPS", Kind::count, Scope::test, "vm.max_map_count", {}, 1, 1'000'000'000,
     "memory maps that a process of thread ranks may have"},
    {"MEANTIME_TEST_STILL", Kind::count, Scope::test, "10", {}, 1, 1'000'000,
     "seconds in which nobody moves before that is told"},
    {"MEANTIME_TEST_ATTACHES", Kind::word, Scope::test, "0", no_yes, 0, 0,
     "cross-memory attach counts as quick, however long it takes here"},
    {"MEANTIME_TEST_ALWAYS_MOVE", Kind::word, Scope::test, "0", no_yes, 0, 0,
     "thread ranks change workers whenever they wait"},
};
// clang-format on

std::uint64_t unit(char letter) {
  switch (letter) {
    case 'K':
    case 'k':
      return 1024;
    case 'M':
    case 'm':
      return 1024 * 1024;
    case 'G':
    case 'g':
      return 1024 * 1024 * 1024;
    default:
      return 1;
  }
}

/// As the paper writes it (INFINITY), or in small letters, or in both.
bool is_infinity(std::string_view value) {
  constexpr std::string_view word = "infinity";
  return std::equal(value.begin(), value.end(), word.begin(), word.end(), [](char one, char small) {
    return one == small || (one >= 'A' && one <= 'Z' && one - 'A' + 'a' == small);
  });
}

std::string alternatives(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t index = 0; index < words.size(); ++index) {
    text += index == 0 ? "" : index + 1 == words.size() ? " or " : ", ";
    text += words[index];
  }
  return text;
}

std::string range(const Setting& setting) {
  std::string text = setting.most == infinity
                         ? fmt::format("from {} on, or infinity", setting.least)
                         : fmt::format("from {} to {}", setting.least, setting.most);
  return setting.words.empty() ? text : text + ", or " + alternatives(setting.words);
}

/// "; without a unit: 5000", of "5ms" where microseconds are wanted without their name. Nothing if
/// that would be refused as well.
std::string without_unit(const Setting& setting, std::string_view value) {
  struct Unit {
    std::string_view name;
    std::uint64_t microseconds;
  };
  constexpr Unit units[] = {{"us", 1},    {"\u00b5s", 1}, {"\u03bcs", 1},   {"usec", 1},
                            {"ms", 1000}, {"msec", 1000}, {"s", 1'000'000}, {"sec", 1'000'000}};
  const std::size_t digits = std::min(value.find_first_not_of("0123456789"), value.size());
  std::string_view name = value.substr(digits);
  name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
  std::uint64_t count = 0;
  const bool read = std::from_chars(value.data(), value.data() + digits, count).ec == std::errc() &&
                    count <= 1'000'000'000;
  for (const Unit& unit : units) {
    if (setting.kind == Kind::microseconds && name == unit.name && read) {
      const std::string text = fmt::to_string(count * unit.microseconds);
      return number(setting, text) ? "; without a unit: " + text : std::string();
    }
  }
  return {};
}

bool is_word(const Setting& setting, std::string_view value) {
  return std::find(setting.words.begin(), setting.words.end(), value) != setting.words.end();
}

}  // namespace

std::span<const Setting> all() {
  return table;
}

const Setting* find(std::string_view name) {
  const auto* found = std::find_if(std::begin(table), std::end(table),
                                   [&](const Setting& setting) { return setting.name == name; });
  return found == std::end(table) ? nullptr : found;
}

std::optional<std::uint64_t> number(const Setting& setting, std::string_view value) {
  if (setting.most == infinity && is_infinity(value)) {
    return infinity;
  }
  std::uint64_t factor = 1;
  if (setting.kind == Kind::bytes && !value.empty()) {
    factor = unit(value.back());
    value.remove_suffix(factor == 1 ? 0 : 1);
  }
  const char* const last = value.data() + value.size();
  std::uint64_t result = 0;
  const auto [end, error] = std::from_chars(value.data(), last, result);
  if (error != std::errc() || end != last ||
      result > std::numeric_limits<std::uint64_t>::max() / factor) {
    return std::nullopt;
  }
  result *= factor;
  return result >= setting.least && result <= setting.most ? std::optional(result) : std::nullopt;
}

bool same(const Setting& setting, std::string_view one, std::string_view other) {
  if (one == other || setting.kind == Kind::word || setting.kind == Kind::text) {
    return one == other;
  }
  const std::optional<std::uint64_t> first = number(setting, one);
  return first && first == number(setting, other);
}

std::string problem(const Setting& setting, std::string_view value) {
  switch (setting.kind) {
    case Kind::text:
      return {};
    case Kind::word:
      return is_word(setting, value) ? std::string()
                                     : fmt::format("{} must be {}, not '{}'", setting.name,
                                                   alternatives(setting.words), shown(value));
    default:
      break;
  }
  if (number(setting, value) || is_word(setting, value)) {
    return {};
  }
  const char* what = setting.kind == Kind::bytes          ? "a number of bytes (8192, 8K, 4M, 1G)"
                     : setting.kind == Kind::microseconds ? "a number of microseconds"
                                                          : "a number";
  return fmt::format("{} must be {} {}, not '{}'{}", setting.name, what, range(setting),
                     shown(value), without_unit(setting, value));
}

}  // namespace meantime::settings
