#include "scheduling/view.h"

#include <pthread.h>
#include <unistd.h>

#include "node/process.h"
#include "node/segment.h"
#include "scheduling/fiber.h"

/// Its name is what a debugger finds it by; exported, so that a stripped library has it too.
extern "C" {
__attribute__((visibility("default"))) meantime::ranks::HostView meantime_host_view{};
}

namespace meantime::ranks {

void show_ranks(const std::vector<Fiber*>& fibers) {
  auto* views = new RankView[fibers.size()];  // for as long as the process lives
  for (std::size_t i = 0; i < fibers.size(); ++i) {
    Fiber& fiber = *fibers[i];
    RankView& view = views[i];
    view = {};
    view.mark = reinterpret_cast<std::uint64_t>(&fiber.mark);
    view.state = reinterpret_cast<std::uint64_t>(&fiber.state);
    view.stack_begin = reinterpret_cast<std::uint64_t>(fiber.mark);
    view.control_block = fiber.control_block;
    view.world_rank = fiber.rank.world_rank;
    pthread_attr_t attributes;
    if (pthread_getattr_np(fiber.own_thread, &attributes) == 0) {
      void* low = nullptr;
      std::size_t bytes = 0;
      pthread_attr_getstack(&attributes, &low, &bytes);
      view.stack_low = reinterpret_cast<std::uint64_t>(low);
      pthread_attr_destroy(&attributes);
    }
    node::RankArea& area = node::segment().area(fiber.rank.world_rank);
    node::publish_pid_namespace(area);
    area.host.store(getpid(), std::memory_order_relaxed);
    // Whoever finds the address finds the pid and what lies there.
    area.view.store(reinterpret_cast<std::uint64_t>(&view), std::memory_order_release);
  }
  meantime_host_view = {view_version, static_cast<std::uint32_t>(fibers.size()),
                        reinterpret_cast<std::uint64_t>(views)};
}

}  // namespace meantime::ranks
