// The guests of a program on another MPI: one rank of each node, the first, starts the keeper
// (src/guest), and says at the end what became of them.
#pragma once

namespace meantime::shim {

/// Whether this job has guests: `meantime steal` has said so in the environment.
bool has_guests();

/// It is to have what is left in waits that are not in collectives, too.
bool steals_all();

/// In MPI_Init, of each rank.
void start_guests();
/// In MPI_Finalize.
void end_guests();

}  // namespace meantime::shim
