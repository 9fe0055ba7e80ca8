// What guests are to run and within which limits: what mpiexec tells the keeper (keeper.h), as the
// words that start it.
//   guest    a program of the user's that has what the ranks leave of a CPU
//   keeper   the process that starts a job's guests, and of which no guest remains
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace meantime::guest {

struct Plan {
  std::vector<std::string> command;    ///< of each guest: the program's path, and its words
  std::vector<std::vector<int>> cpus;  ///< where each guest runs; so many guests there are
  std::uint64_t memory_bytes = 0;      ///< of a guest with its children
  std::uint64_t processes = 0;         ///< of a guest, itself counted
  std::uint64_t file_bytes = 0;        ///< the longest file that it writes
  double grace_seconds = 0;            ///< from SIGINT to SIGTERM, and from that to SIGKILL
  bool again = false;                  ///< one that ends is started again
  bool freeze = false;                 ///< they run only while ranks wait: Order::number
  std::string log_folder;              ///< empty: what they write is kept in memory, a part of it
  bool detached = false;               ///< the keeper is nobody's child
  int control = -1;                    ///< the keeper's end of its socket

  /// Without the socket, if there is none yet.
  [[nodiscard]] std::vector<std::string> words() const;
  /// Nothing if these are not such words.
  static std::optional<Plan> of(int count, char** words);

 private:
  bool set(std::string_view name, std::string_view value);
};

/// What mpiexec asks of the keeper, a letter each.
/// `number`, decimal digits and `these` are one: so many guests may run, the others are stopped.
/// `stop` and `go_on` are for the guests' whole trees, which are looked for; `freeze` and `thaw`,
/// often, for their process groups.
enum class Order : char {
  begin = 'b',
  stop = 's',
  go_on = 'c',
  freeze = 'f',
  thaw = 't',
  number = 'n',
  these = '.',
  end = 'e',
};

}  // namespace meantime::guest
