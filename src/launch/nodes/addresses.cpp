#include "launch/nodes/addresses.h"

#include <cstring>

namespace meantime::launch {
namespace {

/// Ranks in a row that have one address, as those of a process have, and before that.
struct Run {
  int first = 0;
  int ranks = 0;
  int bytes = 0;
};

}  // namespace

std::string packed_addresses(const net::Board& board, const std::function<bool(int rank)>& wanted) {
  std::string packed;
  for (int rank = 0; rank < board.ranks();) {
    const std::string_view address = wanted(rank) ? board.posted(rank) : std::string_view();
    if (address.empty()) {
      ++rank;
      continue;
    }
    Run run{rank, 0, static_cast<int>(address.size())};
    while (rank < board.ranks() && wanted(rank) && board.posted(rank) == address) {
      ++run.ranks;
      ++rank;
    }
    packed.append(reinterpret_cast<const char*>(&run), sizeof run);
    packed += address;
  }
  return packed;
}

std::string post_packed(std::string_view packed, net::Board& board) {
  Run run;
  while (packed.size() >= sizeof run) {
    std::memcpy(&run, packed.data(), sizeof run);
    packed.remove_prefix(sizeof run);
    if (run.bytes < 0 || static_cast<std::size_t>(run.bytes) > packed.size()) {
      return "another node's addresses are not complete";
    }
    const std::string wrong =
        board.post(run.first, run.ranks, packed.substr(0, static_cast<std::size_t>(run.bytes)));
    if (!wrong.empty()) {
      return wrong;
    }
    packed.remove_prefix(static_cast<std::size_t>(run.bytes));
  }
  return packed.empty() ? "" : "another node's addresses are not complete";
}

bool are_posted(const net::Board& board, const std::function<bool(int rank)>& wanted) {
  for (int rank = 0; rank < board.ranks(); ++rank) {
    if (wanted(rank) && board.posted(rank).empty()) {
      return false;
    }
  }
  return true;
}

}  // namespace meantime::launch
