// What mpiexec says on standard error: always whole lines in one write, always with its name (or
// another's, where it is not mpiexec who speaks: `speak_as`).
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace meantime::launch {

void speak_as(const char* name);

/// Writes `text` behind "mpiexec: ", in one write, so that ranks' lines stay whole; a newline
/// follows unless the text has one. Nothing in it moves a terminal's cursor (settings/shown.h):
/// part of it may come from a program.
void say(std::string_view text);

template <class... Arguments>
void say(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  say(std::string_view(fmt::format(text, std::forward<Arguments>(arguments)...)));
}

/// The same for what is said while a job runs: the job must not wait for those who read about it.
/// Gives up on the rest when nobody has read anything for `listening_seconds`. Main thread only.
void mention(std::string_view text);

template <class... Arguments>
void mention(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  mention(std::string_view(fmt::format(text, std::forward<Arguments>(arguments)...)));
}

/// A text of whole lines as standard error has it (settings/terminal.h).
std::string as_shown(std::string_view text);

inline constexpr double listening_seconds = 0.3;

/// Writes text as it is to a descriptor, whole, whatever it takes. False, and errno, if that cannot
/// be; EPIPE if nobody can read it.
bool write_all(int descriptor, std::string_view text);

/// The same for a file's whole text, and closes it. A regular file that cannot be written whole is
/// gone again, for half a report is none; what else has this name by now, or is only linked to by
/// it (/dev/stdout), is left alone.
bool write_file(int descriptor, const std::string& path, std::string_view text);

/// For one that nothing will be written to any more: gone again, if it is empty, on the same terms.
void remove_empty_file(int descriptor, const std::string& path);

/// As write_all, for as long as somebody reads. Main thread only.
void write_while_read(int descriptor, std::string_view text);

/// "signal 11 (Segmentation fault)"
std::string signal_text(int signal);

std::string host_name();

}  // namespace meantime::launch
