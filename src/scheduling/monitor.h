// The host's main thread while its ranks run: it looks now and then, while any worker is up, for
// what nobody else can see.
//   - A worker sleeps, and another one has more than it can run: the sleeper is signalled, and
//   steals.
//   - A worker has not switched for 10 ms although it has others to run: its fiber sleeps in the
//     kernel in a call that we do not see, or waits for something that another rank of that worker
//     has to do (a flag, a file, a mutex). Its worker gets a spare carrier.
//   - Ranks were stolen while they computed, and now only take turns: they go home.
// While all workers sleep it sleeps too, without a time limit.
#pragma once

namespace meantime::ranks {

/// Returns when all fibers are finalized. On the host's main thread.
void watch();
/// By a worker that has slept.
void a_worker_is_up();
/// By the last fiber.
void tell_monitor_of_the_end();

}  // namespace meantime::ranks
