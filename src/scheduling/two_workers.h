// For tests: a host of fibers on two workers, in a segment of its own. Once a process.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include "node/segment.h"
#include "rank/rank.h"
#include "scheduling/worker.h"

namespace meantime::ranks {

/// Each of the `fibers` lives `life(index)`; an idle worker steals.
inline void run_on_two_workers(int fibers, void (*life)(int), bool always_move = false) {
  const int descriptor = node::create_segment(fibers, 2);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(node::segment().map(descriptor), 0);
  node::segment().header().on_deadlock = 2;  // ignore: nobody here is in MPI
  Plan plan;
  plan.ranks = fibers;
  plan.world_size = fibers;
  plan.workers = 2;
  plan.job_workers = 2;
  plan.stack_bytes = 1 << 20;
  plan.guard_bytes = 1 << 20;
  plan.steal = true;
  plan.always_move = always_move;
  plan.prepare = [](int index) {
    self().area = &node::segment().area(static_cast<std::size_t>(index));
  };
  plan.run = life;
  ASSERT_EQ(run(plan), 0);
  close(descriptor);
}

}  // namespace meantime::ranks
