#include "collective.h"

#include "pool.h"

namespace fuzz {

const Team* collective_team(Operation& op, bool may_be_inter) {
  const int index = op.random.below(static_cast<int>(op.run.teams.size()));
  const Team& team = *op.run.teams[static_cast<std::size_t>(index)];
  return team.comm == MPI_COMM_NULL || (team.inter && !may_be_inter) ? nullptr : &team;
}

void run_collective(Operation& op, int form, int rounds, const Fill& fill, const Take& take,
                    const Begin& begin) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (op.run.plain && form != blocking_form) {
    for (int round = 1; form == persistent_form && round < rounds; ++round) {
      begin(blocking_form, &request);
      op.digest.add(11, mix(take(), static_cast<std::uint64_t>(round)));
      if (fill) {
        fill(round);
      }
    }
    begin(blocking_form, &request);
    op.digest.add(10, take());
    return;
  }
  begin(form, &request);
  if (form == blocking_form) {
    op.digest.add(10, take());
    return;
  }
  if (form == persistent_form) {
    for (int round = 1; round < rounds; ++round) {
      MUST(MPI_Start(&request));
      MPI_Status status;
      finish(op.run.own, &request, &status);
      op.digest.add(11, mix(take(), static_cast<std::uint64_t>(round)));
      if (fill) {
        fill(round);
      }
    }
    MUST(MPI_Start(&request));
  }
  Digest& digest = op.digest;
  put(request, form == persistent_form,
      [take, fill, &digest](MPI_Status&) { digest.add(10, take()); });
}

}  // namespace fuzz
