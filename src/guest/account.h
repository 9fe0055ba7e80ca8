// What became of guests: lines of text, from the keeper to mpiexec.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace meantime::guest {

struct GuestAccount {
  int starts = 0;
  std::optional<int> wait_status;  ///< of its last end before the keeper asked for it
  double cpu_seconds = 0;          ///< with the children that it has waited for
  std::uint64_t units = 0;         ///< of work, as it counts them
};

/// Of numbers that guests say: never more than there can be.
inline std::uint64_t sum(std::uint64_t one, std::uint64_t other) {
  return one > ~other ? ~std::uint64_t{0} : one + other;
}

/// While they run.
struct SoFar {
  std::uint64_t cpu_ns = 0;
  std::uint64_t units = 0;
  std::uint64_t running = 0;
};

struct Account {
  double cpu_seconds = 0;         ///< of all, and of whatever they have left behind
  double keeper_cpu_seconds = 0;  ///< of the keeper itself
  double seconds = 0;             ///< from the first start to the order to end …
  double ending_seconds = 0;      ///< … and from that until all were gone
  std::vector<GuestAccount> guests;
};

/// What the keeper says: an account, at its end, and before that sums and lines for people.
std::string account_text(const Account& account);
std::string remark_text(std::string_view line);
std::string so_far_text(const SoFar& so_far);

/// The same for people, beside programs of another MPI: a line, and one for each guest.
std::string account_for_people(const Account& account);

/// Hears it, in whatever pieces it comes.
class Listener {
 public:
  /// Calls `remark` with each line for people.
  template <class Remark>
  void hear(std::string_view piece, Remark&& remark) {
    text_ += piece;
    for (std::size_t end = 0; (end = text_.find('\n')) != std::string::npos;) {
      if (std::optional<std::string> line = take(text_.substr(0, end))) {
        remark(*line);
      }
      text_.erase(0, end + 1);
    }
  }
  /// Empty guests: none has come.
  [[nodiscard]] const Account& account() const { return account_; }
  [[nodiscard]] const SoFar& so_far() const { return so_far_; }

 private:
  std::optional<std::string> take(const std::string& line);

  std::string text_;
  Account account_;
  SoFar so_far_;
};

}  // namespace meantime::guest
