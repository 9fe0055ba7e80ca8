// Where the value of a setting comes from. The later source wins, unless an earlier one locks it:
//   preset        built in
//   site file     PREFIX/etc/meantime.conf, the centre's; may lock a setting
//   user file     ~/.config/meantime.conf (XDG_CONFIG_HOME is heeded)
//   environment   of the command, or of a program that was started without mpiexec; a variable that
//                 is empty counts as one that is not set
//   mpiexec       its options
//   program       MPIX_Setting_set, a communicator's info: not seen here
// A file has lines `NAME = VALUE`, NAME with or without MEANTIME_, in either case; `#` begins a
// comment; `lock NAME = VALUE` locks it (site file only). That of MEANTIME_WAIT locks its knobs and
// the energy policies, too, unless the file says something else of them; that of one of the two
// energy policies the other one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "settings/settings.h"

namespace meantime::settings {

enum class Source : std::uint8_t { preset, site, user, environment, launcher };

struct Value {
  std::string text;  ///< empty: not set; so it may be locked, too
  Source source = Source::preset;
  std::string where;      ///< FILE:LINE of a file's
  bool locked = false;    ///< by the site file: nobody else was asked
  std::string in_vain{};  ///< ... though somebody says otherwise: "poll as the environment says"
  Source in_vain_of = Source::preset;  ///< who that is
};

/// The value of an environment variable; nothing if it is not set.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;
Environment own_environment();

/// The two files, read once; a missing one is as an empty one, and so is one that cannot be read
/// through no fault of its own (somebody else's, or its server does not answer).
class Files {
 public:
  /// `prefix`: where Meantime is installed; empty: no site file.
  void read(const std::string& prefix, const Environment& environment);

  /// What is wrong with them in one line; empty if nothing is.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Each in a line, what is not read though it is or may be there: the job goes on without it.
  [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }
  /// What holds for a setting before anything is said in the program. `option`: what mpiexec's
  /// command line says, or nothing.
  [[nodiscard]] Value value(const Setting& setting, const Environment& environment,
                            const std::optional<std::string>& option = {}) const;
  /// Both paths, as far as there are such files.
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }

  /// Those that are not there, and would be read.
  [[nodiscard]] const std::vector<std::string>& absent() const { return absent_; }

  /// What is locked, for the environment of a rank: whoever starts it there may have changed
  /// settings in between. Of each NAME=VALUE in a line, and where it is locked in the next.
  [[nodiscard]] std::string locks() const;
  /// In a rank, instead of reading files: that text.
  void take_locks(const std::string& text);

 private:
  void read_file(const std::string& path, Source source);
  void note_unread(const std::string& path, const std::string& why);
  /// Whoever locks the way to wait means its knobs, too, and who could be asked in its place; but
  /// not what he sets himself.
  void lock_what_replaces_the_way_to_wait();
  /// Locks at its preset what the file has not set itself.
  void lock_too(std::string_view name, const Value& locked);
  /// One of two of which only one may decide: it stays "none", which the file says, beside the
  /// other one if that is locked at something.
  void lock_none_beside(std::string_view name, const Value& other);
  void read_line(std::string_view line, Source source, const std::string& where);

  std::vector<Value> values_;  ///< by index in all()
  std::vector<std::string> paths_;
  std::vector<std::string> absent_;
  std::string problem_;
  std::vector<std::string> remarks_;
};

/// As in the environment: "wait" and "MEANTIME_WAIT" are the same.
std::string full_name(std::string_view name);

/// "environment", "PREFIX/etc/meantime.conf:3, locked" ...: for people.
std::string source_name(const Value& value);

/// What a lock has overruled, in one line; empty if nothing was.
std::string overruled(const Setting& setting, const Value& value);
/// The same is told once a job, whoever finds it.
std::string told_as(const Setting& setting, const Value& value);
/// Whether who started this job may be waiting for it to have an effect. A file is for many jobs:
/// what a lock has overruled of it is no news.
bool is_news(const Value& value);

/// What is wrong with the environment's value of any setting, in one line; values that a lock
/// makes void are not looked at. Empty if all make sense.
std::string first_problem(const Files& files, const Environment& environment);

}  // namespace meantime::settings
