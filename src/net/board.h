// Where the processes of a job find each other's addresses: a memfd with a slot for each rank,
// inherited as the segment is. A rank fills in its own and waits for all others.
#pragma once

#include <string>
#include <vector>

namespace meantime::net {

/// `nodes`: of each world rank. Returns the descriptor, close-on-exec, which the caller closes, or
/// -errno.
int create_board(const std::vector<int>& nodes);

struct Addresses {
  std::vector<int> nodes;            ///< of each world rank
  std::vector<std::string> of_rank;  ///< empty: on the node of whoever asked
};

/// Writes the address of `ranks` ranks from `first_rank` on there, and returns when all ranks' are.
/// Empty, or one line what is wrong with the board.
std::string exchange_addresses(int descriptor, int first_rank, int ranks,
                               const std::string& address, Addresses& all);

}  // namespace meantime::net
