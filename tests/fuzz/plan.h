// What the parts of the fuzzer share: numbers, digests, checked calls, and the run.
//   plan        what all ranks do, drawn from the seed alone
//   operation   one entry of the plan: messages, a collective, …; each has its own random numbers
//               (from seed, step and number): without one the others are the same, so it shrinks
//   own         a rank's private random numbers: in which order it waits. Never changes a result.
//   digest      a number for everything an operation received; compared between libraries
// Why no plan deadlocks: every rank does its part of the operations in one total order; a blocking
// call waits only for the same operation on other ranks, a wait only for earlier ones. Of all ranks
// that wait, the one that is at the earliest operation can go on.
// Why the results are determined: of one sender on one communicator, messages are sent and receives
// are posted in that same order, so receive i gets message i, also if it takes any tag. A receive
// from any source has a tag or a communicator of its own.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fuzz {

/// A call must succeed; what fails ends the job and names itself.
void must(int code, const char* what, const char* file, int line);
#define MUST(call) ::fuzz::must(call, #call, __FILE__, __LINE__)

/// Splitmix64: the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0)
      : state_(a * 0x9E3779B97F4A7C15u + b * 0xC2B2AE3D27D4EB4Fu + c * 0x165667B19E3779F9u + 1) {
    next();
  }
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// From 0 to limit - 1.
  int below(int limit) { return static_cast<int>(next() % static_cast<std::uint64_t>(limit)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[next() % i]);
    }
  }

 private:
  std::uint64_t state_;
};

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  a = (a ^ b) * 0x9FB21C651E98DF25u;
  return a ^ (a >> 29);
}
std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t start = 1);

/// Bytes of a message, as often around the limits of the ways it may travel as small.
long message_bytes(Random& random, long limit);

/// Where an operation's part puts what it received. Parts may end in any order.
struct Digest {
  std::string kind;
  int step, number;
  std::uint64_t value = 0;
  void add(std::uint64_t part, std::uint64_t hash) { value += mix(part + 1, hash); }
};

struct Team;

/// One rank's run of the plan.
struct Run {
  int rank = 0, size = 1;
  std::uint64_t seed = 1;
  long limit = 1 << 20;  ///< bytes of a message
  bool trace = false;
  /// Calls that MPICH 5.0.2 gets wrong are replaced by others with the same result, and requests
  /// are waited for one after the other.
  bool plain = false;
  std::vector<std::unique_ptr<Team>> teams;
  std::vector<std::unique_ptr<Digest>> digests;
  Random own{0};
  long buffered = 0;  ///< bytes of buffered sends since the buffer was empty
};

/// Bytes that may lie in the buffer of MPI_Bsend.
inline constexpr long buffer_bytes = 8 << 20;

/// One operation while it is begun.
struct Operation {
  Run& run;
  Random random;  ///< the same on all ranks
  Digest& digest;
  std::uint64_t seed;  ///< for the contents of buffers
};

// The kinds of operation. Each begins its part on this rank; what is outstanding goes to the pool.
void messages(Operation& op);
void any_source(Operation& op);
void exchange(Operation& op);
void partitioned(Operation& op);
void cancelled(Operation& op);
void collective(Operation& op);
void collective_varying(Operation& op);
void reduction(Operation& op);
void neighborhood(Operation& op);
void datatype(Operation& op);
void group(Operation& op);
void churn(Operation& op);

}  // namespace fuzz
