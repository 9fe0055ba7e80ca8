#include "protocol/host_interface.h"

#include <cerrno>
#include <string_view>

#include "core/error/abort.h"
#include "core/start/settings.h"
#include "core/start/startup.h"
#include "net/outside_of_rank.h"
#include "node/control_client.h"
#include "node/segment.h"
#include "rank/rank.h"
#include "scheduling/worker.h"

#define MEANTIME_FOR_HOSTS extern "C" __attribute__((visibility("default")))

MEANTIME_FOR_HOSTS int meantime_host_run(const meantime_host_plan* plan) {
  if (plan->interface_version != MEANTIME_HOST_INTERFACE) {
    return EPROTO;
  }
  meantime::ranks::Plan ours;
  ours.first_rank = plan->first_rank;
  ours.ranks = plan->ranks;
  ours.world_size = plan->world_size;
  ours.workers = plan->workers;
  ours.first_worker = plan->first_worker;
  ours.job_workers = plan->job_workers;
  ours.control = plan->control;
  ours.stack_bytes = plan->stack_bytes;
  ours.guard_bytes = plan->guard_bytes;
  ours.round_robin = plan->round_robin != 0;
  ours.first_workers = plan->first_workers;
  ours.steal = plan->steal != 0;
  ours.prepare = plan->prepare;
  ours.run = plan->run;
  ours.worker_begins = plan->worker_begins;
  meantime::net::act_for() = plan->act_for;
  return meantime::core::start_thread_ranks(ours, plan->segment);
}

MEANTIME_FOR_HOSTS int meantime_host_index() {
  return meantime::ranks::index_of_self();
}

MEANTIME_FOR_HOSTS void meantime_host_finish() {
  meantime::ranks::finish();
}

MEANTIME_FOR_HOSTS int meantime_host_leave_worker(int for_a_time) {
  return meantime::ranks::leave_worker(for_a_time != 0) ? 1 : 0;
}

MEANTIME_FOR_HOSTS void meantime_host_come_back() {
  meantime::ranks::come_back();
}

MEANTIME_FOR_HOSTS int meantime_host_set_folder(int descriptor) {
  return meantime::ranks::set_folder(descriptor);
}

MEANTIME_FOR_HOSTS int meantime_host_set_file_mask(int mask) {
  return meantime::ranks::set_file_mask(mask);
}

MEANTIME_FOR_HOSTS void meantime_host_belong_to(int index) {
  meantime::ranks::belong_to(index);
}

MEANTIME_FOR_HOSTS void meantime_host_abandon(int index) {
  meantime::ranks::abandon(index);
}

MEANTIME_FOR_HOSTS void meantime_host_abort(int code) {
  meantime::core::abort_job(code, {});
}

MEANTIME_FOR_HOSTS int meantime_host_yield() {
  return meantime::ranks::yield() ? 1 : 0;
}

MEANTIME_FOR_HOSTS int meantime_host_says_where() {
  return meantime::core::says_where.load(std::memory_order_relaxed) ? 1 : 0;
}

MEANTIME_FOR_HOSTS void meantime_host_tell_end(int rank, int code, int signal, const char* text) {
  meantime::node::ControlClient client(meantime::ranks::control(), rank);
  if (signal > 0) {
    client.killed(signal, text);
  } else {
    meantime::node::note_end(meantime::node::segment(), rank);
    client.ended(code);
  }
}
