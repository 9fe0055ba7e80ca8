#include "host/process/beginning.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "host/process/refusal.h"
#include "protocol/control.h"

namespace meantime::host {

thread_local RankState* detail::current = nullptr;

namespace {

std::vector<std::unique_ptr<RankState>>& states() {
  static auto& all = *new std::vector<std::unique_ptr<RankState>>;
  return all;
}

/// A list of its own: libc's has the time zone of whoever asked last (interpose/time.cpp), and not
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
  setvbuf(rank.fallback.standard_output, nullptr, _IOLBF, 0);  // src/core/start/output.h
  setvbuf(rank.fallback.standard_error, nullptr, _IONBF, 0);
  rank.descriptors.begin(index, places);
}

}  // namespace

char* last_part(char* path) {
  char* const slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

void make_rank(const launch::HostWords& words, const Program& program, const ThreadRoom& room) {
  const int index = static_cast<int>(states().size());
  auto rank = std::make_unique<RankState>();
  rank->world_rank = words.first_rank + index;
  rank->index = index;
  rank->program = &program;
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
}

void prepare_rank(int index) {
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

// As the kernel would: the program's entry point finds the words on the stack, and calls
// __libc_start_main (at_exit.cpp).
void run_rank(int index) {
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

}  // namespace meantime::host
