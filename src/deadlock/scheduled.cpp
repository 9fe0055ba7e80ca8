#include "deadlock/scheduled.h"

#include <sys/uio.h>

#include "node/process.h"
#include "scheduling/view.h"

namespace meantime::wait {
namespace {

template <class T>
bool read_from(int pid, std::uint64_t address, T& value) {
  const iovec here{&value, sizeof value};
  const iovec there{reinterpret_cast<void*>(address), sizeof value};
  return process_vm_readv(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(sizeof value);
}

}  // namespace

std::optional<Scheduled> scheduled(const node::RankArea& area) {
  const std::uint64_t place = area.view.load(std::memory_order_acquire);
  const int host = node::host_here(area);
  ranks::RankView view;
  std::uint8_t state = 0;
  std::uint64_t mark = 0;
  if (place == 0 || host == 0 || !read_from(host, place, view) ||
      !read_from(host, view.state, state) || !read_from(host, view.mark, mark) ||
      state > static_cast<std::uint8_t>(ranks::State::finalized)) {
    return std::nullopt;
  }
  const auto known = static_cast<ranks::State>(state);
  return Scheduled{known, known == ranks::State::running || mark != view.stack_begin};
}

}  // namespace meantime::wait
