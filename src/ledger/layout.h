// The ledger in the node's segment: where a rank's time in MPI went, by call site. Written by the
// rank, under its lock; read by mpiexec when the job is over, or by anybody meanwhile (torn reads
// between fields are allowed). Zero-filled is an empty account.
//   call site   the place in the user's program that a call returns to, and the call; of a long
//               wait of an interpreter's program the place in the script
//               (deadlock/location_hook.h)
//   activity    what was done during a wait
//   histogram   how often a wait took how long, four buckets an octave: a quantile is right to 19 %
#pragma once

#include <atomic>
#include <cstdint>

#include "node/layout.h"

namespace meantime::ledger {

enum class Activity : std::uint8_t {
  help,   ///< other ranks of the worker ran
  poll,   ///< looked, awake
  yield,  ///< had given the core away, or looked for somebody to give it to
  sleep,  ///< in the kernel, or suspended
};
inline constexpr int activities = 4;

/// Of a worker.
enum class Doing : std::uint8_t {
  run,    ///< its ranks, with their looks, and the switches between them
  poll,   ///< nothing to run: looked
  yield,  ///< nothing to run: looked, and gave the core away between
  sleep,  ///< on its bell
};
inline constexpr int doings = 4;

inline constexpr int histogram_buckets = 120;

struct alignas(node::cache_line) SiteAccount {
  std::atomic<std::uint64_t> address;  ///< where the call returns to; 0: all sites beyond the limit
  std::atomic<node::Link> file;        ///< path of the program or library it is in, 0 = unknown …
  std::atomic<std::uint64_t> offset;   ///< … and the address there, as addr2line wants it
  std::atomic<std::uint32_t> call;     ///< index of the generated call table
  std::atomic<std::uint32_t> named;    ///< 1: `file` is the place itself, "solve (script.py:12)"
  std::atomic<std::uint64_t> waits;
  std::atomic<std::uint64_t> total_ns;
  std::atomic<std::uint64_t> longest_ns;
  std::atomic<std::uint64_t> spent_ns[activities];
  std::atomic<std::uint64_t> predictions;  ///< waits that slept by a timer before the message came
  std::atomic<std::uint64_t> late;  ///< … and were signalled out of it: the timer was too late
  std::atomic<std::uint64_t> vain;  ///< … and polled to the end for nothing: too early
  std::atomic<std::uint64_t> error_ns;  ///< sum of how far all of them were off
  std::atomic<std::uint32_t> histogram[histogram_buckets];
};

/// A page of them; a rank's pages are a list, the newest first.
struct SitePage {
  static constexpr std::size_t bytes = 4096;
  static constexpr int sites = (bytes - node::cache_line) / sizeof(SiteAccount);

  std::atomic<node::Link> next;
  std::atomic<std::uint32_t> used;
  SiteAccount site[sites];
};
static_assert(sizeof(SitePage) <= SitePage::bytes && SitePage::sites >= 5);

/// Only the owner adds.
template <class T>
void add(std::atomic<T>& sum, T value) {
  sum.store(sum.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

}  // namespace meantime::ledger
