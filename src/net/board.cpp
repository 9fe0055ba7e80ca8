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

}  // namespace

struct Board::Slot {
  std::atomic<std::uint32_t> filled;  ///< a futex
  std::int32_t node;
  std::uint32_t bytes;
  char address[4096 - 12];
};

struct Board::Layout {
  std::uint64_t magic;
  std::uint64_t ranks;
  alignas(4096) Slot slots[1];  ///< as many as ranks

  static std::size_t bytes_of(std::size_t ranks) {
    return offsetof(Layout, slots) + ranks * sizeof(Slot);
  }
};

namespace {

void* map_shared(int descriptor, std::size_t bytes) {
  void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return place == MAP_FAILED ? nullptr : place;
}

}  // namespace

Board::~Board() {
  if (layout_ != nullptr) {
    munmap(layout_, bytes_);
  }
}

int Board::create(const std::vector<int>& nodes) {
  static_assert(sizeof(Slot) == 4096);
  const std::size_t bytes = Layout::bytes_of(nodes.size());
  const int descriptor = memfd_create("meantime-board", MFD_CLOEXEC);
  if (descriptor < 0) {
    return -errno;
  }
  auto* const layout = static_cast<Layout*>(ftruncate(descriptor, static_cast<off_t>(bytes)) == 0
                                                ? map_shared(descriptor, bytes)
                                                : nullptr);
  if (layout == nullptr) {
    const int error = errno;
    close(descriptor);
    return -error;
  }
  layout->magic = board_magic;
  layout->ranks = nodes.size();
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    layout->slots[rank].node = nodes[rank];
  }
  munmap(layout, bytes);
  return descriptor;
}

std::string Board::map(int descriptor) {
  struct stat file {};
  const bool is_file =
      fstat(descriptor, &file) == 0 && file.st_size >= static_cast<off_t>(Layout::bytes_of(1));
  bytes_ = static_cast<std::size_t>(is_file ? file.st_size : 0);
  layout_ = is_file ? static_cast<Layout*>(map_shared(descriptor, bytes_)) : nullptr;
  return layout_ != nullptr && layout_->magic == board_magic &&
                 Layout::bytes_of(layout_->ranks) == bytes_
             ? std::string()
             : fmt::format("file descriptor {} is not the job's board of addresses", descriptor);
}

int Board::ranks() const {
  return static_cast<int>(layout_->ranks);
}

std::string Board::post(int first_rank, int ranks, std::string_view address) {
  if (first_rank < 0 || ranks < 1 || ranks > this->ranks() - first_rank) {
    return fmt::format("ranks {} to {} are not on the job's board of addresses", first_rank,
                       first_rank + ranks - 1);
  }
  if (address.size() > sizeof layout_->slots[0].address) {
    return fmt::format("an address has {} bytes, of which {} are the most", address.size(),
                       sizeof layout_->slots[0].address);
  }
  for (int rank = first_rank; rank < first_rank + ranks; ++rank) {
    Slot& slot = layout_->slots[rank];
    if (slot.filled.load(std::memory_order_acquire) != 0) {
      continue;  // they come back from the hub, and are read here already
    }
    std::memcpy(slot.address, address.data(), address.size());
    slot.bytes = static_cast<std::uint32_t>(address.size());
    // No wake-up is lost: it is filled before the wake, and the kernel looks at the word once more
    // before anybody sleeps.
    slot.filled.store(1, std::memory_order_release);
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&slot.filled), FUTEX_WAKE, INT32_MAX,
            nullptr, nullptr, 0);
  }
  return {};
}

std::string_view Board::posted(int rank) const {
  const Slot& slot = layout_->slots[rank];
  return slot.filled.load(std::memory_order_acquire) == 0
             ? std::string_view()
             : std::string_view(slot.address, slot.bytes);
}

Addresses Board::wait_for_all(int rank) const {
  Addresses all;
  for (int other = 0; other < ranks(); ++other) {
    Slot& slot = layout_->slots[other];
    while (slot.filled.load(std::memory_order_acquire) == 0) {
      syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&slot.filled), FUTEX_WAIT, 0, nullptr,
              nullptr, 0);
    }
    all.nodes.push_back(slot.node);
    all.of_rank.emplace_back(slot.node == layout_->slots[rank].node ? std::string_view()
                                                                    : posted(other));
  }
  return all;
}

}  // namespace meantime::net
