#include "protocol/host_main.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "host/image/load_and_unload.h"
#include "host/process/rank_state.h"
#include "node/address_limit.h"
#include "protocol/control.h"
#include "protocol/host_interface.h"
#include "protocol/host_words.h"
#include "protocol/rank_addresses.h"
#include "settings/shown.h"

namespace meantime::host {

thread_local RankState* detail::current = nullptr;

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

std::vector<std::unique_ptr<RankState>>& states() {
  static auto& all = *new std::vector<std::unique_ptr<RankState>>;
  return all;
}

/// It only loads the program, for somebody who reads its standard output
/// (launch/thread_ranks/host_trial.cpp).
bool is_trial = false;

[[noreturn]] void give_up(const std::string& line) {
  const std::string text = (is_trial ? "" : "mpiexec: ") + settings::shown_lines(line) + "\n";
  [[maybe_unused]] const auto written =
      write(is_trial ? STDOUT_FILENO : STDERR_FILENO, text.data(), text.size());
  syscall(SYS_exit_group, 1);  // libc's is behind one of ours, and to find it may want memory
  __builtin_unreachable();
}

/// Nothing of the program has run; the job does not start.
[[noreturn]] void refuse(const std::string& why) {
  give_up(is_trial ? why : why + "; start it without --as threads");
}

constexpr long maps_of_a_stack = 2;

int number(const char* text) {
  int value = -1;
  if (text != nullptr) {
    std::from_chars(text, text + std::strlen(text), value);
  }
  return value;
}

/// Of this process's addresses.
std::size_t mapped_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * elf::page;
}

/// Below each stack. So large because an array that is larger than what is left of the stack begins
/// far below it: with a guard of a few pages that would be another rank's stack. It costs addresses
/// only; where those are limited (ulimit -v) all guards together take half of what the node's
/// segment, the stacks and malloc's arenas leave.
std::size_t guard_bytes(int ranks, std::size_t stack) {
  constexpr std::uint64_t most = std::uint64_t{256} << 20;
  constexpr std::uint64_t least = std::uint64_t{1} << 20;
  const std::uint64_t limit = node::address_limit();
  if (limit == node::no_address_limit) {
    return most;
  }
  const auto count = static_cast<std::uint64_t>(ranks);
  const std::uint64_t needed = mapped_bytes() + node::addresses_of_segment(limit) +
                               count * (stack + launch::addresses_of_malloc);
  const std::uint64_t left = limit - std::min(limit, needed);
  return std::clamp(left / 2 / count, least, most) & ~std::uint64_t{elf::page - 1};
}

/// On the rank's own thread: from here on its control block knows whose it is.
void prepare(int index) {
  RankState& rank = *states()[static_cast<std::size_t>(index)];
  const Closure& closure = rank.program->closure;
  rank.image.copy_thread_data(closure);
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* low = nullptr;
    std::size_t bytes = 0;
    pthread_attr_getstack(&attributes, &low, &bytes);
    rank.stack_low = static_cast<char*>(low);
    if (closure.wants_executable_stack) {
      mprotect(low, bytes, PROT_READ | PROT_WRITE | PROT_EXEC);
    }
    pthread_attr_destroy(&attributes);
  }
  rank.thread = pthread_self();
  detail::current = &rank;
}

/// Begins the program as the kernel would: its entry point finds the words on the stack, and calls
/// __libc_start_main (at_exit.cpp).
void run(int index) {
  RankState& rank = *states()[static_cast<std::size_t>(index)];
  const std::vector<char*>& words = rank.program->words;
  if (rank.program->number != states().front()->program->number) {
    // The host's says that all are of its first one.
    setenv(launch::program_variable, fmt::to_string(rank.program->number).c_str(), 1);
  }
  char** const environment = *rank.environment();
  std::size_t variables = 0;
  while (environment[variables] != nullptr) {
    ++variables;
  }
  const std::size_t count = (1 + words.size() + variables + 1 + 2 + 1) & ~std::size_t{1};
  auto* block = static_cast<std::uintptr_t*>(
      __builtin_alloca_with_align(count * sizeof(std::uintptr_t), 128));
  std::uintptr_t* place = block;
  *place++ = words.size() - 1;
  for (char* word : words) {
    // Each rank may write to its words.
    *place++ = reinterpret_cast<std::uintptr_t>(word == nullptr ? nullptr : strdup(word));
  }
  for (std::size_t i = 0; i <= variables; ++i) {
    *place++ = reinterpret_cast<std::uintptr_t>(environment[i]);
  }
  *place++ = 0;  // AT_NULL: what the kernel tells a program, getauxval still knows
  *place++ = 0;
  asm volatile(
      "movq %0, %%rsp\n\t"
      "xorl %%ebp, %%ebp\n\t"
      "xorl %%edx, %%edx\n\t"
      "jmpq *%1"
      :
      : "r"(block), "r"(rank.image.entry(rank.program->closure))
      : "rdx", "memory");
  __builtin_unreachable();
}

/// A list of its own: libc's has the time zone of whoever asked last (in_front_time.cpp), and not
/// the rank's number, which mpiexec would have told a process.
void make_environment(RankState& rank) {
  rank.numbers[0] = fmt::format("{}={}", launch::rank_variable, rank.world_rank);
  rank.numbers[1] = fmt::format("{}={}", launch::local_rank_variable, rank.world_rank);
  for (char** each = environ; *each != nullptr; ++each) {
    rank.given_variables.push_back(*each);
  }
  for (std::string& number : rank.numbers) {
    rank.given_variables.push_back(number.data());
  }
  rank.given_variables.push_back(nullptr);
  rank.fallback.environment = rank.given_variables.data();
}

char* last_part(char* path) {
  char* const slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

std::unique_ptr<Program> open_program(launch::HostProgram& what) {
  auto program = std::make_unique<Program>();
  program->number = what.number;
  char path[PATH_MAX];
  program->file = realpath(what.path.c_str(), path) != nullptr ? path : what.path;
  for (std::string& word : what.words) {
    program->words.push_back(word.data());
  }
  program->words.push_back(nullptr);
  if (const std::string why = program->closure.open(what.path); !why.empty()) {
    refuse(why);
  }
  return program;
}

/// Where this executable has its block for the programs' thread-local variables. If it is too small
/// another executable takes this one's place.
ThreadRoom find_thread_room(const std::vector<std::unique_ptr<Program>>& programs, char** words,
                            const char* block, std::size_t bytes) {
  std::size_t needed = 0;
  std::size_t alignment = 1;
  for (const auto& program : programs) {
    needed = std::max(needed, program->closure.thread_bytes);
    alignment = std::max(alignment, program->closure.thread_alignment);
  }
  struct Larger {
    const char* name;
    std::size_t bytes;
    std::size_t alignment;
  };
  // As in CMakeLists.txt.
  constexpr Larger larger[] = {{"meantime-host-medium", 32768, 64},
                               {"meantime-host-large", MEANTIME_MOST_PROGRAM_TLS, 4096}};
  constexpr std::size_t usual_alignment = 64;
  if (needed > bytes ||
      (alignment > usual_alignment && bytes < std::size_t{MEANTIME_MOST_PROGRAM_TLS})) {
    char self[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
    const std::string path(self, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    for (const Larger& each : larger) {
      if (needed <= each.bytes && alignment <= each.alignment && bytes < each.bytes) {
        execv((path.substr(0, path.rfind('/') + 1) + each.name).c_str(), words);
        give_up(fmt::format("cannot run {}: {}", each.name, std::strerror(errno)));
      }
    }
    refuse(fmt::format("'{}' has {} bytes of thread-local variables, {} are the most",
                       programs.front()->words[0], needed, MEANTIME_MOST_PROGRAM_TLS));
  }
  ThreadRoom room;
  void* const host = dlopen(nullptr, RTLD_NOW);
  std::size_t module = 0;
  if (host == nullptr || dlinfo(host, RTLD_DI_TLS_MODID, &module) != 0 || module == 0) {
    give_up("the host has no thread-local block");
  }
  room.module = module;
  room.distance =
      static_cast<std::uint64_t>(static_cast<const char*>(__builtin_thread_pointer()) - block);
  return room;
}

[[noreturn]] void try_to_load(char** arguments, const char* block, std::size_t bytes) {
  is_trial = true;
  launch::HostProgram what{1, 0, arguments[2], {arguments[2]}};
  std::vector<std::unique_ptr<Program>> programs;
  programs.push_back(open_program(what));
  const ThreadRoom room = find_thread_room(programs, arguments, block, bytes);
  if (arguments[3] != nullptr) {
    std::string counts;
    if (const std::string why =
            load_and_unload(programs.front()->closure, room, number(arguments[3]), counts);
        !why.empty()) {
      refuse(why);
    }
    [[maybe_unused]] const auto written = write(STDOUT_FILENO, counts.data(), counts.size());
    _exit(0);
  }
  const long others = count_maps();
  Image image;
  if (const std::string why = image.load(programs.front()->closure, 0, room); !why.empty()) {
    refuse(why);
  }
  const std::string maps = fmt::format("{} {}\n", count_maps() - others + maps_of_a_stack, others);
  [[maybe_unused]] const auto written = write(STDOUT_FILENO, maps.data(), maps.size());
  _exit(0);
}

/// Streams of its own on descriptors of its own: what one rank does to its standard output (close,
/// freopen, redirect) is nothing to the others.
void open_streams(RankState& rank, const launch::HostWords& words, int index) {
  const bool labelled = words.first_label >= 0;
  int sources[3] = {rank.world_rank == words.stdin_rank ? STDIN_FILENO : words.no_input,
                    labelled ? words.first_label + 2 * index : STDOUT_FILENO,
                    labelled ? words.first_label + 2 * index + 1 : STDERR_FILENO};
  constexpr const char* modes[3] = {"r", "w", "w"};
  int places[3];
  std::FILE** streams[3] = {&rank.fallback.standard_input, &rank.fallback.standard_output,
                            &rank.fallback.standard_error};
  for (int i = 0; i < 3; ++i) {
    // Above those that scripts and programs count on.
    const int own = fcntl(sources[i], F_DUPFD_CLOEXEC, 100);
    if (own < 0) {
      give_up(fmt::format("rank {}: no descriptor for its streams: {}", rank.world_rank,
                          std::strerror(errno)));
    }
    places[i] = own;
    *streams[i] = rank.streams.add(fdopen(own, modes[i]));
    if (labelled && i > 0) {
      close(sources[i]);  // so that the pipe ends with the rank
    }
  }
  setvbuf(rank.fallback.standard_error, nullptr, _IONBF, 0);
  rank.descriptors.begin(index, places);
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
  for (int i = 0; words.first_label >= 0 && i < 2 * words.ranks; ++i) {
    all.push_back(words.first_label + i);
  }
  return all;
}

/// Before hundreds of images are loaded in vain: the kernel limits the pieces of an address space.
void check_map_limit(int ranks, long maps_before_first) {
  const long maps = count_maps();
  const long of_a_rank = maps - maps_before_first + maps_of_a_stack;
  const long needed = maps + of_a_rank * ranks;
  long limit = number(std::getenv("MEANTIME_TEST_MOST_MAPS"));
  std::ifstream file("/proc/sys/vm/max_map_count");
  if ((limit > 0 || file >> limit) && needed > limit) {
    give_up(fmt::format(
        "{} thread ranks of this program need {} memory maps, vm.max_map_count is {}: use "
        "--ranks-per-process {}, process ranks, or sysctl vm.max_map_count={}",
        ranks, needed, limit, std::max(1L, (limit / 5 * 4 - maps) / of_a_rank),
        needed + needed / 4));
  }
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

/// What may have been in the way.
const char* limits_of(int error) {
  const bool few = node::address_limit() != node::no_address_limit;
  switch (error) {
    case ENOMEM:
      return few ? " (ulimit -v limits the address space; process ranks need less of it)" : "";
    case EAGAIN:
      return few ? " (is the number of threads limited by ulimit -u, or the address space by "
                   "ulimit -v? process ranks need less of it)"
                 : " (is the number of threads limited by ulimit -u?)";
    default:
      return "";
  }
}

[[noreturn]] void give_up_starting(int ranks, int error) {
  give_up(fmt::format("{} thread ranks cannot be started: {}{}", ranks, std::strerror(error),
                      limits_of(error)));
}

}  // namespace
}  // namespace meantime::host

using namespace meantime;
using namespace meantime::host;

MEANTIME_IN_FRONT int meantime_host_main(int count, char** arguments, char* block,
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
    auto rank = std::make_unique<RankState>();
    rank->world_rank = words.first_rank + index;
    rank->index = index;
    rank->program = programs[words.program_of(index)].get();
    const Closure& closure = rank->program->closure;
    make_environment(*rank);
    rank->fallback.invocation_name = rank->program->words[0];
    rank->fallback.short_invocation_name = last_part(rank->program->words[0]);
    rank->fallback.time_zone_names[0] = tzname[0];
    rank->fallback.time_zone_names[1] = tzname[1];
    open_streams(*rank, words, index);
    if (const std::string why = rank->image.load(closure, index, room); !why.empty()) {
      refuse(why);
    }
    rank->image.use_data(closure, rank->fallback);
    states().push_back(std::move(rank));
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
  plan.prepare = prepare;
  plan.run = run;
  plan.worker_begins = prepare_thread_for_crashes;
  if (const int error = meantime_host_run(&plan); error != 0) {
    give_up_starting(words.ranks, error);
  }
  reinterpret_cast<void (*)(int)>(real_function("_exit"))(0);
  return 0;
}
