// Where the processes of a job find each other's addresses: a memfd with a slot for each rank,
// inherited as the segment is. Who has an address posts it there for its ranks, and waits for all
// others'. Those of ranks that another mpiexec has started are posted by the supervisor.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace meantime::net {

struct Addresses {
  std::vector<int> nodes;            ///< of each world rank
  std::vector<std::string> of_rank;  ///< empty: on the node of whoever asked
};

class Board {
 public:
  Board() = default;
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  /// `nodes`: of each world rank. Returns the descriptor, close-on-exec, which the caller closes,
  /// or -errno.
  static int create(const std::vector<int>& nodes);

  /// Empty, or one line what is wrong with it. The descriptor may be closed then.
  std::string map(int descriptor);
  [[nodiscard]] int ranks() const;
  /// That of `ranks` ranks from `first_rank` on; of each the first counts. Empty, or one line why
  /// not.
  std::string post(int first_rank, int ranks, std::string_view address);
  /// Empty: it is not there yet.
  [[nodiscard]] std::string_view posted(int rank) const;
  /// Returns when all are there, as that rank needs them.
  [[nodiscard]] Addresses wait_for_all(int rank) const;

 private:
  struct Slot;
  struct Layout;

  Layout* layout_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace meantime::net
