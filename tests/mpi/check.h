// The harness of the MPI behaviour tests: plain programs for the standard ABI, run on Meantime
// and on the oracle (MPICH's ABI library). A program ends with finish(), which prints
// " No Errors" (MPICH's convention) if no check of any rank failed.
// It may use point-to-point calls only, so that collectives are tested by their own tests.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace check {

inline int rank = -1;
inline int size = 0;
inline std::atomic<int> errors{0};
inline std::vector<std::string> arguments;

__attribute__((format(printf, 4, 5))) inline void failed(const char* file, int line,
                                                         const char* condition, const char* format,
                                                         ...) {
  if (errors.fetch_add(1) >= 20) return;  // the first ones tell the story
  char text[512];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  const char* name = strrchr(file, '/');
  fprintf(stderr, "%s:%d: rank %d of %d: not true: %s; %s\n", name ? name + 1 : file, line, rank,
          size, condition, text);
  fflush(stderr);
}

#define CHECK(condition, ...)                                                           \
  do {                                                                                  \
    if (!(condition)) ::check::failed(__FILE__, __LINE__, #condition, " " __VA_ARGS__); \
  } while (0)

inline std::string error_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

// Calls return codes only where a handler returns; everywhere else this documents the intent.
#define MUST(call)                                                           \
  do {                                                                       \
    int must_code = (call);                                                  \
    if (must_code != MPI_SUCCESS)                                            \
      ::check::failed(__FILE__, __LINE__, #call, " error %d: %s", must_code, \
                      ::check::error_text(must_code).c_str());               \
  } while (0)

inline int error_class(int code) {
  int result = -1;
  MPI_Error_class(code, &result);
  return result;
}

#define CLASS(wanted, call)                                                                   \
  do {                                                                                        \
    int class_code = (call);                                                                  \
    CHECK(::check::error_class(class_code) == (wanted), "class %d (%s), not %d",              \
          ::check::error_class(class_code), ::check::error_text(class_code).c_str(), wanted); \
  } while (0)

// A run path or LD_LIBRARY_PATH can bring in the other library silently; the runner says which
// one it means in MEANTIME_TEST_EXPECT_LIBRARY.
inline void require_expected_library() {
  const char* expected = getenv("MEANTIME_TEST_EXPECT_LIBRARY");
  if (!expected) return;
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  if (strstr(version, expected)) return;
  fprintf(stderr, "wrong library: expected '%s', runs on '%s'\n", expected, version);
  exit(3);
}

// For the few things that MPICH itself gets wrong; each use says what.
/// Of ranks that are threads; their own file, /proc/self/exe, is the program's.
inline bool in_a_host() {
  FILE* const maps = fopen("/proc/self/maps", "r");
  char line[4200];
  bool found = false;
  while (maps != nullptr && fgets(line, sizeof line, maps) != nullptr)
    found = found || strstr(line, "/meantime-host") != nullptr;
  if (maps != nullptr) fclose(maps);
  return found;
}

// The ranks are blocks of nodes that mpiexec plays (MEANTIME_TEST_NODES).
inline int node_of(int world_rank) {
  const char* nodes = getenv("MEANTIME_TEST_NODES");
  return nodes != nullptr ? static_cast<int>(static_cast<long>(world_rank) * atoi(nodes) / size)
                          : 0;
}
inline std::vector<int> ranks_of_own_node() {
  std::vector<int> ranks;
  for (int other = 0; other < size; ++other) {
    if (node_of(other) == node_of(rank)) ranks.push_back(other);
  }
  return ranks;
}

inline bool on_mpich() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  return strstr(version, "MPICH") != nullptr;
}

inline int start(int argc, char** argv, int required = MPI_THREAD_SINGLE) {
  require_expected_library();
  arguments.assign(argv + 1, argv + argc);
  int provided = MPI_THREAD_SINGLE;
  if (required == MPI_THREAD_SINGLE)
    MPI_Init(&argc, &argv);
  else
    MPI_Init_thread(&argc, &argv, required, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return provided;
}

// --name=value; absent: the given default.
inline long option(const char* name, long otherwise) {
  std::string head = std::string("--") + name + "=";
  for (auto& argument : arguments)
    if (argument.compare(0, head.size(), head) == 0)
      return strtol(argument.c_str() + head.size(), nullptr, 0);
  return otherwise;
}

inline int finish() {
  constexpr int tag = 32000;
  int total = errors.load();
  if (rank == 0) {
    for (int r = 1; r < size; ++r) {
      int theirs = 0;
      MPI_Recv(&theirs, 1, MPI_INT, r, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      total += theirs;
    }
    for (int r = 1; r < size; ++r) MPI_Send(&total, 1, MPI_INT, r, tag, MPI_COMM_WORLD);
    if (total == 0)
      printf(" No Errors\n");
    else
      printf("Found %d errors\n", total);
    fflush(stdout);
  } else {
    MPI_Send(&total, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
    MPI_Recv(&total, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return total ? 1 : 0;
}

// Splitmix64: the same numbers everywhere, unlike the distributions of <random>.
struct Random {
  uint64_t state;
  explicit Random(uint64_t seed) : state(seed * 0x9E3779B97F4A7C15ull + 1) {}
  uint64_t next() {
    uint64_t z = (state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  int below(int limit) { return static_cast<int>(next() % static_cast<uint64_t>(limit)); }
  bool chance(int percent) { return below(100) < percent; }
};

// A byte pattern that depends on the seed and on the position.
inline unsigned char byte_at(uint64_t seed, size_t position) {
  uint64_t word = (seed + 1) * 0x9E3779B97F4A7C15ull + position * 0xD1342543DE82EF95ull;
  return static_cast<unsigned char>(word >> 56);
}

inline void fill(void* buffer, size_t bytes, uint64_t seed) {
  auto* at = static_cast<unsigned char*>(buffer);
  for (size_t i = 0; i < bytes; ++i) at[i] = byte_at(seed, i);
}

// The position of the first wrong byte, or -1.
inline long first_wrong(const void* buffer, size_t bytes, uint64_t seed) {
  auto* at = static_cast<const unsigned char*>(buffer);
  for (size_t i = 0; i < bytes; ++i)
    if (at[i] != byte_at(seed, i)) return static_cast<long>(i);
  return -1;
}

inline long first_other_than(const void* buffer, size_t bytes, unsigned char value) {
  auto* at = static_cast<const unsigned char*>(buffer);
  for (size_t i = 0; i < bytes; ++i)
    if (at[i] != value) return static_cast<long>(i);
  return -1;
}

inline void sleep_ms(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

// Keeps the processor busy without calling MPI.
inline void compute_ms(int ms) {
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  volatile double x = 1;
  while (std::chrono::steady_clock::now() < end)
    for (int i = 0; i < 1000; ++i) x = x * 1.0000001 + 1e-9;
}

// Sizes around every protocol threshold one could think of, up to the given limit.
inline std::vector<int> sizes_to(int limit) {
  std::vector<int> result;
  for (int s :
       {0,      1,      7,      8,      16,     31,      32,      33,      63,       64,      65,
        100,    127,    128,    255,    256,    257,     512,     1000,    1024,     2048,    4000,
        4095,   4096,   4097,   8192,   10000,  16384,   32767,   32768,   65535,    65536,   65537,
        100000, 131072, 262144, 300000, 524288, 1048576, 1048577, 4194304, 16777216, 67108864})
    if (s <= limit) result.push_back(s);
  return result;
}

}  // namespace check
