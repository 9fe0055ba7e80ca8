#include "core/start/joining.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "core/error/abort.h"
#include "core/error/error.h"
#include "core/start/task.h"
#include "net/board.h"
#include "net/network.h"
#include "node/control_client.h"
#include "node/segment.h"
#include "protocol/control.h"
#include "rank/rank.h"

namespace meantime::core {
namespace {

int own_cpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  return sched_getaffinity(0, sizeof mask, &mask) == 0 ? std::max(1, CPU_COUNT(&mask)) : 1;
}

}  // namespace

int number_from_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') {
    return -1;
  }
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end == '\0' && value >= 0 && value <= 1 << 30 ? static_cast<int>(value) : -1;
}

// A rank's own children inherit the variables but not the descriptors, whose numbers may be any
// files by now: they are singletons. A rank that has lost its own is none (refuse_to_be_alone).
bool join_job(Rank& rank) {
  const bool task = is_task();
  // The others' memory and messages are not for a program that has more rights than its user.
  if ((task || number_from_environment(launch::segment_variable) >= 0) &&
      getauxval(AT_SECURE) != 0) {
    abort_job(
        1,
        "a program with more rights than its user (set-user-ID, set-group-ID, file capabilities) "
        "cannot be a rank of that user's job");
  }
  if (task) {
    become_rank();
  }
  const int descriptor = number_from_environment(launch::segment_variable);
  rank.world_rank = number_from_environment(launch::rank_variable);
  rank.world_size = number_from_environment(launch::size_variable);
  const bool told = rank.world_rank >= 0 && rank.world_size > rank.world_rank;
  const int error = told ? node::segment().map(descriptor) : EBADF;
  if (error == EBADF) {
    rank.world_rank = 0;
    rank.world_size = 1;
    return false;
  }
  if (error != 0) {
    if (error == EPROTO) {
      abort_job(1, "mpiexec is of another version than this program's libmpi_abi.so.1");
    }
    abort_job(1,
              fmt::format("the job's shared memory cannot be mapped: {}{}", std::strerror(error),
                          error == ENOMEM ? " (is the address space limited by ulimit -v?)" : ""));
  }
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  rank.workers = std::max(1, static_cast<int>(node::segment().header().workers));
  return true;
}

bool wants_to_be_alone() {
  const char* const wanted = std::getenv("MEANTIME_SINGLETON");
  return wanted != nullptr && std::string_view(wanted) == "1";
}

void refuse_to_be_alone() {
  if (wants_to_be_alone()) {
    return;
  }
  if (number_from_environment(launch::rank_pid_variable) == getpid()) {
    abort_job(
        1,
        fmt::format(
            "rank {} has closed file descriptor {} before MPI_Init, or made it another file, and "
            "so lost its job: call MPI_Init first, or close only what the program has opened "
            "itself (with MEANTIME_SINGLETON=1 each such process runs as a world of its own)",
            number_from_environment(launch::rank_variable),
            number_from_environment(launch::segment_variable)));
  }
  if (is_child_of_task()) {
    return;
  }
  struct Sign {
    const char* variable;
    const char* size;
    const char* launcher;
  };
  constexpr Sign signs[] = {
      {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun, without PMIx"},
      {"PMI_RANK", "PMI_SIZE", "Hydra (MPICH's mpiexec) or another PMI launcher"},
      {"SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "Slurm's srun, without PMIx (srun --mpi=pmix)"},
  };
  for (const Sign& sign : signs) {
    if (std::getenv(sign.variable) != nullptr && number_from_environment(sign.size) != 1) {
      abort_job(1,
                fmt::format("this program was started by {}, which Meantime does not support; "
                            "start it with Meantime's mpiexec, or set MEANTIME_SINGLETON=1 to run "
                            "each process as a world of its own",
                            sign.launcher));
    }
  }
}

void join_network(const Rank& rank, int ranks) {
  if (const net::Network* const known = net::network(); known != nullptr) {  // a task's
    if (known->ranks() != rank.world_size) {
      abort_job(1, "the launcher does not say where all ranks are");
    }
    return;
  }
  const int descriptor = number_from_environment(launch::board_variable);
  if (descriptor < 0) {
    return;
  }
  auto* const network = new net::Network;  // for as long as the process lives
  net::Board board;
  std::string problem = network->open();
  problem = problem.empty() ? board.map(descriptor) : problem;
  problem = problem.empty() ? board.post(rank.world_rank, ranks, network->address()) : problem;
  if (!problem.empty()) {
    abort_job(1, problem);
  }
  close(descriptor);
  rank.control->address_posted();
  net::Addresses all = board.wait_for_all(rank.world_rank);
  network->set_peers(std::move(all.nodes), std::move(all.of_rank));
  net::detail::host_network = network;
}

int make_singleton(Rank& rank) {
  rank.workers = own_cpus();
  const int descriptor = node::create_segment(1, rank.workers);
  if (descriptor < 0) {
    const std::string limit = node::what_limits(static_cast<std::uint32_t>(-descriptor));
    return fail(MPI_ERR_NO_MEM, "no shared memory: {}{}{}", std::strerror(-descriptor),
                limit.empty() ? "" : ": ", limit);
  }
  if (const int error = node::segment().map(descriptor); error != 0) {
    close(descriptor);
    return fail(MPI_ERR_NO_MEM, "shared memory cannot be mapped: {}", std::strerror(error));
  }
  return MPI_SUCCESS;  // the segment keeps the descriptor: it grows through it
}

}  // namespace meantime::core
