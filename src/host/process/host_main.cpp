#include "protocol/host_main.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/descriptor_limit.h"
#include "host/image/load_and_unload.h"
#include "host/process/beginning.h"
#include "host/process/limits.h"
#include "host/process/programs.h"
#include "host/process/rank_state.h"
#include "host/process/refusal.h"
#include "protocol/control.h"
#include "protocol/host_interface.h"
#include "protocol/host_words.h"
#include "protocol/rank_addresses.h"

namespace meantime::host {

const HostFiles& host_files() {
  static const HostFiles files = [] {
    const int folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const mode_t mask = umask(0);
    umask(mask);
    return HostFiles{folder, static_cast<int>(mask)};
  }();
  return files;
}

const cpu_set_t& host_cpus() {
  static const cpu_set_t cpus = [] {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    sched_getaffinity(0, sizeof mask, &mask);
    return mask;
  }();
  return cpus;
}

namespace {

int number(const char* text) {
  int value = -1;
  if (text != nullptr) {
    std::from_chars(text, text + std::strlen(text), value);
  }
  return value;
}

/// Out of the way of numbers that a program may choose: the library uses it on the ranks' stacks.
int moved_up(int descriptor) {
  constexpr int least = 800;
  const int other = fcntl(descriptor, F_DUPFD_CLOEXEC, least);
  if (other < 0) {
    return descriptor;
  }
  close_for_host(descriptor);
  keep_for_host(other);
  return other;
}

/// That mpiexec gave us for ourselves.
std::vector<int> descriptors_of_meantime(const launch::HostWords& words) {
  std::vector<int> all = {words.no_input, number(std::getenv(launch::segment_variable)),
                          number(std::getenv(launch::control_variable)),
                          number(std::getenv(launch::lifeline_variable))};
  if (const int board = number(std::getenv(launch::board_variable)); board >= 0) {
    all.push_back(board);
  }
  for (int i = 0; words.first_label >= 0 && i < 2 * words.ranks; ++i) {
    all.push_back(words.first_label + i);
  }
  return all;
}

}  // namespace
}  // namespace meantime::host

using namespace meantime;
using namespace meantime::host;

MEANTIME_INTERPOSED int meantime_host_main(int count, char** arguments, char* block,
                                           unsigned long bytes) {
  if ((count == 3 || count == 4) && std::strcmp(arguments[1], launch::trial_word) == 0) {
    try_to_load(arguments, block, bytes);
  }
  launch::HostWords words;
  if (!words.parse(count, arguments)) {
    give_up("meantime-host is started by mpiexec --as threads");
  }
  raise_descriptor_limit();
  if (const int error = note_inherited_descriptors(descriptors_of_meantime(words)); error != 0) {
    give_up_starting(words.ranks, error);
  }
  auto& programs = *new std::vector<std::unique_ptr<Program>>;  // as long as the process lives
  for (launch::HostProgram& each : words.programs) {
    programs.push_back(open_program(each));
  }
  const ThreadRoom room = find_thread_room(programs, arguments, block, bytes);
  // What libc itself goes by (error, argp).
  program_invocation_name = programs.front()->words[0];
  program_invocation_short_name = last_part(programs.front()->words[0]);
  const long maps_before_first = count_maps();
  meantime_host_loading();
  for (int index = 0; index < words.ranks; ++index) {
    make_rank(words, *programs[words.program_of(index)], room);
    if (index == 0) {
      check_map_limit(words.ranks, maps_before_first);
    }
  }
  meantime_host_loaded();
  prepare_for_threads();
  const std::size_t stack = launch::stack_bytes_of_rank() + room.distance;  // which lies on it
  const std::size_t below_stack = guard_bytes(words.ranks, stack);
  catch_crashes(below_stack);
  host_cpus();
  host_files();
  meantime_host_plan plan{};
  plan.interface_version = MEANTIME_HOST_INTERFACE;
  plan.first_rank = words.first_rank;
  plan.ranks = words.ranks;
  plan.world_size = number(std::getenv(launch::size_variable));
  plan.workers = words.workers;
  plan.first_worker = words.first_worker;
  plan.job_workers = words.job_workers;
  plan.segment = moved_up(number(std::getenv(launch::segment_variable)));
  plan.control = moved_up(number(std::getenv(launch::control_variable)));
  plan.stack_bytes = stack;
  plan.guard_bytes = below_stack;
  plan.round_robin = words.round_robin;
  plan.first_workers = words.first_workers.empty() ? nullptr : words.first_workers.data();
  plan.steal = words.steal;
  plan.prepare = prepare_rank;
  plan.run = run_rank;
  plan.worker_begins = prepare_thread_for_crashes;
  plan.act_for = [](void* rank) -> void* {
    return std::exchange(detail::current, static_cast<RankState*>(rank));
  };
  if (const int error = meantime_host_run(&plan); error != 0) {
    give_up_starting(words.ranks, error);
  }
  reinterpret_cast<void (*)(int)>(real_function("_exit"))(0);
  return 0;
}
