#include "net/board.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace meantime::net {
namespace {

constexpr std::uint64_t board_magic = 0x6472616f62746d31;

struct Slot {
  std::atomic<std::uint32_t> filled;  ///< a futex
  std::int32_t node;
  std::uint32_t bytes;
  char address[4096 - 12];
};
static_assert(sizeof(Slot) == 4096);

struct Board {
  std::uint64_t magic;
  std::uint64_t ranks;
  alignas(4096) Slot slots[1];  ///< as many as ranks
};

std::size_t bytes_of(std::size_t ranks) {
  return offsetof(Board, slots) + ranks * sizeof(Slot);
}

Board* map(int descriptor, std::size_t bytes) {
  void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return place == MAP_FAILED ? nullptr : static_cast<Board*>(place);
}

/// No wake-up is lost: it is filled (release) before the wake, and the kernel looks at the word
/// once more before it sleeps.
void wait_for(Slot& slot) {
  while (slot.filled.load(std::memory_order_acquire) == 0) {
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&slot.filled), FUTEX_WAIT, 0, nullptr,
            nullptr, 0);
  }
}

}  // namespace

int create_board(const std::vector<int>& nodes) {
  const std::size_t bytes = bytes_of(nodes.size());
  const int descriptor = memfd_create("meantime-board", MFD_CLOEXEC);
  if (descriptor < 0) {
    return -errno;
  }
  Board* const board =
      ftruncate(descriptor, static_cast<off_t>(bytes)) == 0 ? map(descriptor, bytes) : nullptr;
  if (board == nullptr) {
    const int error = errno;
    close(descriptor);
    return -error;
  }
  board->magic = board_magic;
  board->ranks = nodes.size();
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    board->slots[rank].node = nodes[rank];
  }
  munmap(board, bytes);
  return descriptor;
}

std::string exchange_addresses(int descriptor, int first_rank, int ranks,
                               const std::string& address, Addresses& all) {
  struct stat file {};
  const bool is_file =
      fstat(descriptor, &file) == 0 && file.st_size >= static_cast<off_t>(bytes_of(1));
  const auto bytes = static_cast<std::size_t>(is_file ? file.st_size : 0);
  Board* const board = is_file ? map(descriptor, bytes) : nullptr;
  if (board == nullptr || board->magic != board_magic || bytes_of(board->ranks) != bytes ||
      static_cast<std::size_t>(first_rank) + static_cast<std::size_t>(ranks) > board->ranks) {
    return fmt::format("file descriptor {} is not the job's board of addresses", descriptor);
  }
  if (address.size() > sizeof board->slots[0].address) {
    return fmt::format("its address has {} bytes, of which {} are the most", address.size(),
                       sizeof board->slots[0].address);
  }
  for (int rank = first_rank; rank < first_rank + ranks; ++rank) {
    Slot& own = board->slots[rank];
    std::memcpy(own.address, address.data(), address.size());
    own.bytes = static_cast<std::uint32_t>(address.size());
    own.filled.store(1, std::memory_order_release);
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&own.filled), FUTEX_WAKE, INT32_MAX,
            nullptr, nullptr, 0);
  }
  const int node = board->slots[first_rank].node;
  for (std::size_t rank = 0; rank < board->ranks; ++rank) {
    Slot& slot = board->slots[rank];
    wait_for(slot);
    all.nodes.push_back(slot.node);
    all.of_rank.push_back(slot.node == node ? std::string()
                                            : std::string(slot.address, slot.bytes));
  }
  munmap(board, bytes);
  return {};
}

}  // namespace meantime::net
