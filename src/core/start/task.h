// A process that another launcher has started (protocol/task.h) on its way to become a rank.
#pragma once

namespace meantime::core {

/// Whether a launcher that speaks PMIx has started this process as a task of a job, and it is not
/// told to be alone.
bool is_task();
/// ... or is a process of such a rank's, which is alone.
bool is_child_of_task();
/// A task in MPI_Init gets the variables and descriptors of a rank. All tasks of the job call it;
/// it waits for them. Ends this process with one line if that cannot be.
void become_rank();

}  // namespace meantime::core
