// The words between a rank and mpiexec: what a rank finds in its environment, and the packets it
// sends on its control socket (SOCK_SEQPACKET, one packet a message, from the rank only but for
// one, see stay_variable). Shared by the library and mpiexec: plain structs and names, no code of
// either side.
#pragma once

#include <cstddef>
#include <cstdint>

namespace meantime::launch {

// Environment of a rank. Numbers are decimal.
inline constexpr char rank_variable[] = "MEANTIME_RANK";
inline constexpr char size_variable[] = "MEANTIME_SIZE";
/// The pid of the process that was started as that rank: others, with the rank's variables but not
/// its descriptors, are alone. Not of thread ranks.
inline constexpr char rank_pid_variable[] = "MEANTIME_RANK_PID";
/// The same by Hydra's names (MPICH, Intel MPI), which scripts choose a GPU or a file by; we do not
/// read them. They say nothing of the launcher. PMI_RANK and OMPI_COMM_WORLD_RANK do: what a rank
/// starts, a program of Meantime's too, would take itself for a rank of MPICH's or Open MPI's job.
inline constexpr char local_rank_variable[] = "MPI_LOCALRANKID";
inline constexpr char local_size_variable[] = "MPI_LOCALNRANKS";
/// Which of the command line's programs it runs, from 0 (MPI_APPNUM).
inline constexpr char program_variable[] = "MEANTIME_APPNUM";
/// The job's shared segment: a memfd, laid out by mpiexec, inherited.
inline constexpr char segment_variable[] = "MEANTIME_SEGMENT_FD";
/// The rank's end of its control socket, inherited.
inline constexpr char control_variable[] = "MEANTIME_CONTROL_FD";
/// Read end of a pipe nobody writes to; it hangs up when mpiexec's supervisor is gone, inherited.
/// Each rank has an open file description of its own, so that it can own the signal it asks for.
inline constexpr char lifeline_variable[] = "MEANTIME_LIFELINE_FD";
/// Of a job with several nodes: the board of addresses (net/board.h), a memfd, inherited.
inline constexpr char board_variable[] = "MEANTIME_BOARD_FD";
/// How many CPUs this job may use at a time: those of the affinity mask, capped by the quota.
inline constexpr char workers_variable[] = "MEANTIME_WORKERS";
/// Nanoseconds that waking a sleeper costs on this machine; not there if it is unknown.
inline constexpr char wake_up_variable[] = "MEANTIME_WAKE_UP_NS";
/// "1": the job has guests (src/guest), which run on what its ranks leave of the CPUs.
inline constexpr char guests_variable[] = "MEANTIME_BESIDE_GUESTS";
/// "1": ranks count their calls (node::GuestWork::calls).
inline constexpr char count_calls_variable[] = "MEANTIME_COUNT_CALLS";
/// The library of the job's guest function (core/start/guest_function.h), an absolute path.
inline constexpr char guest_function_variable[] = "MEANTIME_GUEST_FUNCTION";
/// What the site's file has locked, as settings::Files::locks says it; not there if nothing is.
inline constexpr char locked_variable[] = "MEANTIME_LOCKED";
/// "1": a rank stays in MPI_Finalize until its supervisor lets it leave, by a packet.
inline constexpr char stay_variable[] = "MEANTIME_STAYS_FOR_REPORT";
/// Set to 1 if mpiexec follows the ranks' requests for lower frequencies (ControlKind::frequency).
inline constexpr char frequency_variable[] = "MEANTIME_LOWERS_FREQUENCY";
/// mpi_errors_return or its like: the error handler that a rank has before it sets one (mpiexec
/// -initial-errhandler); not there: mpi_errors_are_fatal.
inline constexpr char initial_errhandler_variable[] = "MEANTIME_INITIAL_ERRHANDLER";
/// Kinds of memory that the program means to give MPI (mpiexec -memory-alloc-kinds); not there:
/// none is named.
inline constexpr char memory_kinds_variable[] = "MEANTIME_MEMORY_ALLOC_KINDS";
/// What to do when the ranks find that all of them wait for ever: abort, report or ignore.
inline constexpr char deadlock_variable[] = "MEANTIME_ON_DEADLOCK";
inline constexpr char deadlock_found[] =
    "deadlock: every rank waits in MPI, and nothing can wake one of them";
/// Exit status of a job that was ended for it, and of a rank without mpiexec.
inline constexpr int deadlock_status = 125;

/// First word of every packet; a packet without it comes from another MPI library (see PMI_FD in
/// supervisor_messages.cpp).
inline constexpr std::uint32_t control_magic = 0x4d454154;
inline constexpr std::uint32_t control_version = 1;

enum class ControlKind : std::uint32_t {
  hello = 1,      ///< MPI_Init began: pid; text is the library's version, in a line of its own …
                  ///< how the rank is to wait, and its energy policy (settings/as_started.h)
  finalized = 2,  ///< MPI_Finalize is done: from now on the rank may end as it likes
  abort = 3,      ///< MPI_Abort: code; text is one line for the user, may be empty
  deadlock = 5,   ///< the ranks wait for ever, or (code 1) perhaps; text: what goes before …
                  ///< the list of what each does, a line, and what goes after it
  ended = 6,      ///< a thread rank has ended: code is its exit status
  killed = 7,     ///< a thread rank takes its host with it: code is the signal, text says more
  frequency = 8,  ///< the rank, or the worker, requests its CPUs slow (code 1), or no longer (0)
  back = 9,       ///< it has opened a session after `finalized`: that no longer holds
  sessions = 10,  ///< code 1: what it is in is sessions only, not MPI_Init; 0: no longer
  remark = 11,    ///< text is a topic, and in the next line one for the user, told once a topic
  crashed = 12,   ///< a process rank is about to die of the signal `code`: text says where
  address = 13,   ///< its address is on the board, and that of all ranks of its process
  still = 14,     ///< nothing on its node goes on by itself: do the other nodes?
  unreachable = 15  ///< its connection to the rank `code`, on another node, is lost: text says why
};

struct ControlMessage {
  std::uint32_t magic = control_magic;
  std::uint32_t version = control_version;
  ControlKind kind = ControlKind::hello;
  std::int32_t rank = -1;
  std::int32_t pid = -1;
  std::int32_t code = 0;
  std::uint32_t text_bytes = 0;  ///< bytes of text behind this struct, in the same packet
  std::int32_t worker = -1;      ///< of `frequency`: its number in the node; -1: a process rank
};
static_assert(sizeof(ControlMessage) == 32);

/// Longest text: it goes in one packet.
inline constexpr std::size_t control_text_limit = 16384;

}  // namespace meantime::launch
