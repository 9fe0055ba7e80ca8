// How a collective runs in its three forms.
#pragma once

#include "plan.h"
#include "team.h"

namespace fuzz {

using Fill = std::function<void(int round)>;  ///< new contents of the buffers
using Take = std::function<std::uint64_t()>;  ///< the hash of what came
using Begin = std::function<void(int form, MPI_Request* request)>;

enum { blocking_form, non_blocking_form, persistent_form };

/// A communicator of this rank; nullptr if it has none there.
const Team* collective_team(Operation& op, bool may_be_inter = true);

/// Begins it. What is not blocking goes to the pool, a persistent one with its last round.
void run_collective(Operation& op, int form, int rounds, const Fill& fill, const Take& take,
                    const Begin& begin);

// The three calls of one collective with the same arguments.
#define FUZZ_FORMS(Name, name, ...)                                       \
  [&](int begin_form, MPI_Request* begin_request) {                       \
    if (begin_form == blocking_form) {                                    \
      MUST(MPI_##Name(__VA_ARGS__));                                      \
    } else if (begin_form == non_blocking_form) {                         \
      MUST(MPI_I##name(__VA_ARGS__, begin_request));                      \
    } else {                                                              \
      MUST(MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, begin_request)); \
    }                                                                     \
  }

}  // namespace fuzz
