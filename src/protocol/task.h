// The words between a task and the supervisor of its node.
//   task       a process that another launcher has started (srun, prterun, Open MPI's mpirun): in
//              MPI_Init it becomes a rank
//   wire-up    a program of ours (libexec/meantime/meantime-wire-up), started by each task, that
//              asks the launcher by PMIx who is who. That of the node's first task leaves a
//              supervisor behind
// If the job has several nodes the wire-up first asks the task for its address on the network, and
// the others' follow the line. The task reads one line from its wire-up, connects to the supervisor
// and says hello. When all tasks have, each gets the descriptors and variables that mpiexec's ranks
// inherit. From then on it is one of them, and the connection is its control socket
// (protocol/control.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace meantime::launch {

/// How the line begins: NAME:SECRET:SECRET RANK PROGRAM, the name of an abstract socket (behind its
/// zero byte) and of the launcher's programs the number of this one; or what is wrong.
inline constexpr char wired_up[] = "supervisor ";
inline constexpr char not_wired_up[] = "error ";
/// Its second word for other uses: that the launcher ends the job, with the status that follows; …
inline constexpr char asks_for_end[] = "end";
/// … for an mpiexec that is the task itself (launch/nodes/joining.h): it hears "task RANK TASKS",
/// answers with a line, where they meet if its rank is 0, and hears "meeting", that of all, and
/// "card NODE PID NAME" of each task, NODE the first task of its node.
inline constexpr char asks_for_tasks[] = "tasks";
/// Before that: the task answers with a line, which is its address in hexadecimal digits, or what
/// is wrong behind `not_wired_up`.
inline constexpr char asks_for_address[] = "address?";
/// Behind that, for each rank of the job: NODE ADDRESS, the first rank of its node and the address
/// of the rank, or "-" for one of this node.
inline constexpr char here[] = "-";

inline constexpr std::uint32_t task_magic = 0x4d455453;

/// The launcher's PMIx server tells it to tasks alone: who does not know it is not one.
using JobSecret = std::uint64_t[2];

struct TaskHello {
  std::uint32_t magic = task_magic;
  std::int32_t rank = -1;
  JobSecret secret{};
};

/// Longest answer: NAME=VALUE, each with a zero byte, in one packet, with which come the
/// descriptors of the segment and of the lifeline.
inline constexpr std::size_t welcome_limit = 65536;

/// A task's PMIX_NAMESPACE, once it is a rank: its children have it, too, and are alone.
inline constexpr char task_variable[] = "MEANTIME_TASK";

}  // namespace meantime::launch
