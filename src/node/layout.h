// The node's segment, as all hosts of the node see it.
//   segment   a memfd that every host maps: a header, one RankArea per rank, then a heap of chunks
//   Link      a place in the segment as an offset, never an address, because every host maps it
//             elsewhere. The upper 16 bits name the segment (0 so far). 0 is "none".
//   chunk     what the heap grows by; each belongs to the rank that took it
// Everything here is valid when zero-filled, so a rank may send to one that has not started yet.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "node/guest_work.h"
#include "node/link_stack.h"

namespace meantime::node {

inline constexpr std::size_t cache_line = 64;

inline constexpr std::uint64_t segment_magic = 0x4d65616e74696d65;  // "Meantime"
inline constexpr std::uint32_t segment_version = 19;

/// Of one job: the tickets of a collective's gate have 16 bits (coll/gate_wait.cpp).
inline constexpr int most_ranks = 65535;

static_assert(std::atomic<Link>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// One sleep of a Waiter: its Link, and in the bits that name a segment elsewhere which of its
/// sleeps (sleep/doorbell.h). Whoever has learned of a sleep that is over rings nobody.
/// The lowest bit, 0 in every Link: armed for the rank, so any awake thread of it will do
/// (sleep/progressing.h).
using SleepLink = std::uint64_t;
inline constexpr int sleep_number_shift = 48;
inline constexpr SleepLink for_the_rank = 1;

/// What a sleeper's word says; sleep/doorbell.h has the protocol. (A thread rank that is on_futex
/// is off its worker, and no kernel thread waits on the word. Who is `hearing` sleeps as
/// sleep/ear.h says.)
enum class Sleep : std::uint32_t {
  awake = 0,
  arming = 1,
  on_futex = 2,
  signalled = 3,
  hearing = 4
};
inline constexpr int sleep_bits = 3;

/// One stack that waits: a rank, a user thread of a rank, or a worker with no rank to run. Taken
/// from the owner's pool; never given back to another use, so a late ring finds a Waiter and not
/// something else.
struct alignas(cache_line) Waiter {
  std::atomic<std::uint32_t> state;  ///< doorbell's word and futex: a Sleep, above it which one
  std::uint32_t owner;               ///< world rank, or no_owner: a worker
  /// Completions it still sleeps for; at 0 it is signalled. In the upper half, in which sleep.
  std::atomic<std::uint64_t> remaining;
  std::uint64_t next_sleeping;   ///< owner only: a SleepLink; of an unused one a Link
  Link worker;                   ///< of a thread rank: who runs it; of a worker: itself; else 0
  std::atomic<Link> next_woken;  ///< on that worker's list, once signalled
  // Of one that probes, guarded by its mailbox's match lock (match/probers.h): the next on the list
  // of those, and what it probes for; wildcards are what MPI calls them.
  Link next_prober;
  std::atomic<std::uint32_t>
      probed_context;  ///< 0: not listed; its rank may change it without the lock
  std::int32_t probed_source;
  std::int32_t probed_tag;
  /// When whoever woke its core rang, by the lower half of CLOCK_MONOTONIC in ns; 0: nobody.
  std::atomic<std::uint32_t> signalled_at;
};
static_assert(sizeof(Waiter) == cache_line);
inline constexpr std::uint32_t no_owner = ~std::uint32_t{0};

/// Where a worker's time went: by its own clock, one activity after the other; and apart from that
/// what the kernel says of the threads that carried it. Written by src/scheduling/worker_times.h.
struct alignas(cache_line) WorkerAccount {
  std::atomic<std::uint32_t> number;        ///< of the worker in the node
  std::atomic<std::uint32_t> doing;         ///< a ledger::Doing …
  std::atomic<std::uint64_t> since_ns;      ///< … which is not charged from here on
  std::atomic<std::uint64_t> began_ns;      ///< CLOCK_MONOTONIC; 0: it has not begun
  std::atomic<std::uint64_t> ended_ns;      ///< 0 before
  std::atomic<std::uint64_t> spent_ns[4];   ///< by ledger::Doing
  std::atomic<std::uint64_t> held_up_ns;    ///< of polling and yielding: others had the core
  std::atomic<std::uint64_t> cpu_ns;        ///< by the kernel, when it was asked last
  std::atomic<std::uint64_t> preempted_ns;  ///< the same: ready to run, and others had the core
  GuestWork guest_work;                     ///< beside `doing`: while it slept
};

/// What the node knows of a worker: a kernel thread of a host that runs thread ranks in turn
/// (src/scheduling/worker.h).
struct alignas(cache_line) WorkerPlace {
  LinkStack woken;  ///< waiters of its ranks that were signalled, newest first; it takes all
  Waiter bell;      ///< its own, signalled if it sleeps while `woken` gets something
  std::atomic<std::uint32_t> suspended;     ///< ranks that sleep if it does; set before it sleeps
  std::atomic<std::uint32_t> offloaded;     ///< ranks that do not: on their own threads
  std::atomic<std::uint32_t> asleep;        ///< 1 from its falling asleep until it is signalled
  std::atomic<std::uint64_t> sleeps;        ///< how often it fell asleep
  std::atomic<std::uint32_t> host_threads;  ///< that its host has when it has nothing to do
  std::atomic<std::uint32_t> numa_node;     ///< + 1, of its CPU; 0: it may run on any
  WorkerAccount account;
};

/// Where messages and posted receives of one rank meet. The first line is touched for each message
/// by its rank, and by senders that push on the inbox; the second one hardly changes while the rank
/// is awake, so that senders and the rank all have it in their caches.
struct alignas(cache_line) Mailbox {
  LinkStack inbox;  ///< newest item first; any rank pushes, the drainer takes all
  std::atomic<std::uint32_t> match_lock;   ///< 0, or world rank + 1 of who may match
  std::atomic<std::uint32_t> pollers;      ///< this rank is awake in MPI and drains by itself
  std::atomic<std::uint32_t> progressing;  ///< threads of it: sleep/progressing.h
  /// How often others have held `match_lock`; written by who does (match/matcher.cpp).
  std::atomic<std::uint32_t> held_by_others;
  std::atomic<SleepLink> sleeper;     ///< may be signalled for any work, 0 = none
  LinkStack attention;                ///< matched transfers that the owner is asked to take part in
  std::atomic<std::uint32_t> rescan;  ///< a transfer that the owner knows of has to go on as a pipe
  std::atomic<std::uint32_t> posted;  ///< receives that are posted; a hint, of a thread rank
  Link queues;                        ///< match::Queues, made by the owner; guarded by `match_lock`
  Link probers;                       ///< waiters of it that probe; guarded by `match_lock`

  alignas(cache_line) std::atomic<std::uint32_t> sleepers;  ///< waiters of it that sleep or arm
  /// The eager rings to this rank, in order of their making: match/eager_ring.h.
  std::array<std::atomic<Link>, 7> eager_rings;
};

static_assert(sizeof(Mailbox) == 2 * cache_line);

/// `away`: past MPI_Finalize or its last session, but it lives and may open another one.
/// `finalized`: it will not be in MPI again.
enum class RankState : std::uint32_t { absent = 0, running, waiting, finalized, away };

/// What a rank is doing, for reports. Written by the rank, read by anybody, torn reads allowed.
struct alignas(cache_line) Report {
  std::atomic<std::uint32_t> state;      ///< RankState
  std::atomic<std::uint32_t> call;       ///< index of the generated call table
  std::atomic<std::int32_t> peer;        ///< comm rank, MPI_ANY_SOURCE, or no_peer
  std::atomic<std::int32_t> tag;         ///< or MPI_ANY_TAG, or no_tag
  std::atomic<std::uint32_t> context;    ///< 0 = several or none
  std::atomic<std::uint32_t> requests;   ///< how many it waits for
  std::atomic<std::uint64_t> since_ns;   ///< CLOCK_MONOTONIC when this wait began
  std::atomic<std::uint64_t> call_site;  ///< return address in the user's program
  std::atomic<std::int32_t> world_peer;  ///< the peer's rank in the world, or no_peer
  std::atomic<std::uint64_t> name[10];   ///< of the communicator; characters, 0 = the end
  /// In the user's program, by name, where an address says nothing (deadlock/location_hook.h); as
  /// `name`.
  std::atomic<std::uint64_t> location[8];
};
inline constexpr std::int32_t no_peer = -100;
inline constexpr std::int32_t no_tag = -100;  ///< or one that Meantime chose

/// What a rank tests again and again without finding it, for reports (deadlock/test_loop_note.h).
/// Written by the rank, read by anybody, torn reads allowed.
struct alignas(cache_line) TestLoopNote {
  std::atomic<std::uint64_t> since_ns;   ///< CLOCK_MONOTONIC
  std::atomic<std::uint64_t> noted_ns;   ///< the latest time that was noted; 0: it has found it
  std::atomic<std::uint64_t> call_site;  ///< return address in the user's program
  std::atomic<std::uint32_t> call;       ///< index of the generated call table
};

struct alignas(cache_line) Account {
  std::atomic<std::uint64_t> waits;              ///< waits that could not go on at once
  std::atomic<std::uint64_t> wait_ns;            ///< wall-clock time in them
  std::atomic<std::uint64_t> parks;              ///< times slept in the kernel
  std::atomic<std::uint64_t> rings;              ///< system calls made to wake others
  std::atomic<std::uint64_t> signalled_in_vain;  ///< woken, and nothing could be moved
  std::atomic<std::uint64_t> spent_ns[4];        ///< of wait_ns, by ledger::Activity
  std::atomic<std::uint64_t> held_up_ns;    ///< of the time awake in waits: others had the core
  std::atomic<std::uint64_t> began_ns;      ///< CLOCK_MONOTONIC of MPI_Init …
  std::atomic<std::uint64_t> ended_ns;      ///< … and of MPI_Finalize; 0 before
  std::atomic<std::uint64_t> cpu_ns;        ///< of the process between them, by the kernel
  std::atomic<std::uint64_t> preempted_ns;  ///< its main thread was ready to run and did not
  // Of a thread rank, which leaves its worker for a kernel thread of its own (scheduling/worker.h):
  std::atomic<std::uint64_t> offloaded_ns;      ///< until it is back on a worker
  std::atomic<std::uint64_t> offloaded_cpu_ns;  ///< what these threads needed, by the kernel
  GuestWork guest_work;                         ///< in sleeps
  // What its helper did while it computed (core/request/helper.h):
  std::atomic<std::uint64_t> helped_messages;
  std::atomic<std::uint64_t> helped_bytes;
  std::atomic<std::uint64_t> helper_cpu_ns;  ///< by the kernel
  // … and what ranks of its process that waited, or their workers, did for it (net/network.h):
  std::atomic<std::uint64_t> carried_messages;
  std::atomic<std::uint64_t> carried_bytes;
  std::atomic<std::uint64_t> carried_far;  ///< of those messages, from another NUMA node
  std::atomic<std::uint64_t> strangers;    ///< messages to its process that were dropped
};

/// What goes between a rank and other nodes (match/ways/remote.h), for who looks whether something
/// is under way there (deadlock/node_state.h). Written by the rank, or by who has entered it: what
/// adds to what is under way before it begins, what takes from it when that is done.
struct alignas(cache_line) Traffic {
  std::atomic<std::uint64_t> sent;       ///< messages that the network was given, so far
  std::atomic<std::uint64_t> taken;      ///< from the network, so far
  std::atomic<std::uint64_t> under_way;  ///< sent, and not over
  std::atomic<std::uint64_t> offered;    ///< lie here, and are not being fetched
  std::atomic<std::uint64_t> fetching;   ///< payloads on their way to a receive
};

// In `returned`.
inline constexpr Link owner_left = 1;   ///< MPI: they are for whoever lacks memory …
inline constexpr Link others_took = 2;  ///< … and some have gone that way
inline constexpr Link marks_of_returned = owner_left | others_took;

struct alignas(cache_line) RankArea {
  Mailbox mailbox;
  /// Cells of this rank that others have emptied; in the bits that are 0 in every Link, whether it
  /// fetches them.
  alignas(cache_line) std::atomic<Link> returned;
  Report report;
  TestLoopNote test_loop;
  Account account;
  Traffic traffic;
  std::atomic<Link> ledger;   ///< its call sites' accounts: pages of ledger/layout.h
  std::atomic<Link> changes;  ///< how its waiting was changed while it ran: ledger/changes.h
  alignas(cache_line) std::atomic<std::int32_t> pid;
  std::atomic<std::uint64_t> trial_address;  ///< a word that others read to try cross-memory attach
  std::atomic<std::uint32_t> asleep;         ///< waiters of it that sleep and were not signalled
  std::atomic<std::uint64_t> sleeps;         ///< how often its waiters fell asleep
  /// 0, or it waits for memory or credit: the number of times that this began. See
  /// deadlock/deadlock.h.
  std::atomic<std::uint32_t> starving;
  std::atomic<std::uint32_t> wants_memory;   ///< it counts among the header's `wanting`
  std::atomic<std::uint32_t> out_of_credit;  ///< a short message of it waits for credit
  std::atomic<std::uint32_t> threads;     ///< that it had when somebody last doubted (deadlock.h)
  std::atomic<std::uint32_t> open_ended;  ///< what else may wake it: open generalised requests, …
  std::atomic<std::uint32_t> napping;     ///< sleepers in a test loop (policy/test_loop.h)
  std::atomic<std::uint32_t> nappers;     ///< threads that nap for memory, or have just looked
  std::atomic<std::int32_t> cpu;    ///< CPU + 1 where it polled lately, see policy/spreading.h
  std::atomic<Link> worker;         ///< of a thread rank: it is asleep if that worker is; else 0
  std::atomic<Link> home;           ///< of a thread rank: the worker that it began on; else 0
  std::atomic<std::uint64_t> view;  ///< of a thread rank: address in its host of its RankView …
  std::atomic<std::int32_t> host;   ///< … and that host's pid, which is stored first; else 0
  // A pid means a process in one PID namespace only; node/process.h.
  std::atomic<std::uint64_t> process;        ///< its process's own random number; 0: not begun
  std::atomic<std::uint64_t> pid_namespace;  ///< inode of that where pid is one; 0: not known
  /// Of its process's first rank: threads that this has for the network, ours and UCX's. In no
  /// order with anything: a searcher that reads another number than the kernel has is in doubt.
  std::atomic<std::uint32_t> network_threads;
  // Of a process rank, if its job has several nodes: sleep/ear.h.
  std::atomic<std::int32_t> bell;           ///< its descriptor + 1, stored last; 0: none
  std::atomic<std::uint64_t> bell_file;     ///< its inode
  std::atomic<std::uint32_t> bell_holders;  ///< ranks of the node that can ring it
};

inline constexpr int context_kinds = 17;  ///< by the number of ranks, in powers of two

/// Of shared memory that a rank is sure to have, however full the segment is when it comes to
/// MPI_Init: two pages, for its queues and a few receives, and before them what it waits with. That
/// is a page of Waiters; of a thread rank a few, and at the end the place of a worker of its host.
inline constexpr std::size_t start_page = 4096;
inline constexpr std::size_t start_bytes = 2 * start_page;
inline constexpr int waiters_a_page = start_page / sizeof(Waiter);
inline constexpr int few_waiters = 4;
inline constexpr std::size_t start_of_worker = start_bytes - sizeof(WorkerPlace);

inline constexpr std::uint32_t addresses_end = ~std::uint32_t{0};

struct Header {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t ranks;             ///< of the job
  std::uint32_t ranks_here;        ///< on this node
  std::uint64_t areas;             ///< offset of the RankArea array
  std::uint64_t world_collective;  ///< offset of COMM_WORLD's collective area
  std::uint64_t starts;            ///< offset of what each rank begins with: start_bytes for each
  std::uint64_t limit;             ///< bytes that a host maps: the heap cannot grow beyond
  std::uint64_t memory;            ///< bytes that the job may use: the machine's, or its cgroup's
  std::uint64_t most;  ///< bytes that it may become, as far as its maker knew: for all ranks alike
  std::uint32_t workers;  ///< CPUs that the job may use
  std::uint32_t runners;  ///< kernel threads that run ranks: process ranks, and workers of hosts
  /// Processes that carry the ranks, if all of these are threads; 0: some are processes of their
  /// own. Written before the first one starts, so all ranks decide alike by it.
  std::uint32_t thread_hosts;
  std::atomic<std::uint32_t> on_deadlock;  ///< 0 abort, 1 report, 2 ignore
  std::atomic<Link> energy_handler;        ///< path of the library that advises all waits, 0 = none
  std::atomic<std::uint32_t> cross_memory_off;  ///< cross-memory attach switched off for the job
  std::atomic<std::uint32_t> attaching;         ///< node/cross_memory.h, Attaching
  /// Why the heap could not grow when it could not last: an errno, or addresses_end. 0: it always
  /// could.
  std::atomic<std::uint32_t> full_because;
  std::atomic<std::uint32_t> wanting;  ///< ranks that lack memory; match/memory.h
  /// Pieces that ranks have given up for these, newest first; who lacks memory takes all.
  alignas(cache_line) LinkStack given_up;
  alignas(cache_line) std::atomic<std::uint64_t> heap_end;  ///< bump pointer of the heap
  /// core/comm/context.cpp
  alignas(cache_line) std::atomic<std::uint64_t> free_contexts[context_kinds];
  std::atomic<std::uint32_t> contexts;  ///< context numbers made so far, see core/comm/context.h
  std::atomic<std::uint32_t> contexts_over_nodes;  ///< … those for ranks of several nodes
  std::atomic<std::uint64_t> leaving;  ///< bytes of areas that some of their members have left
  alignas(cache_line) std::atomic<std::uint32_t> asleep;  ///< ranks that have a sleeping waiter
  std::atomic<std::uint32_t> finalized;                   ///< ranks that are away or finalized
  std::atomic<std::uint32_t> bells;   ///< that processes of the node have made: sleep/ear.h
  std::atomic<std::uint32_t> ending;  ///< 1: the deadlock is told; 2: doubts are
  // Until then sleepers do sleep, whatever guest work there is:
  std::atomic<std::uint64_t> rest_until_ns;            ///< sleep/idle_work.h
  std::atomic<std::uint64_t> without_guests_until_ns;  ///< mpiexec's, guest/bound.h
  // Of guests that are programs, all together, as mpiexec's keeper of them has told last:
  std::atomic<std::uint64_t> guests_cpu_ns;
  std::atomic<std::uint64_t> guests_units;
  std::atomic<std::uint64_t> guests_running;
};

inline bool has_other_nodes(const Header& header) {
  return header.ranks_here != header.ranks;
}

}  // namespace meantime::node
