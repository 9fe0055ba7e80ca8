#include "node/segment.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <new>
#include <string>
#include <type_traits>

#include "machine/memory.h"
#include "node/address_limit.h"
#include "node/collective_area_bytes.h"

namespace meantime::node {
namespace {

constexpr std::size_t page = 4096;
constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// What hosts map. Only address space: the memory behind it comes chunk by chunk.
std::uint64_t mapping_limit(int ranks) {
  const std::uint64_t enough = std::max<std::uint64_t>(16 * gibibyte, ranks * (gibibyte / 16));
  return std::min(enough, addresses_of_segment(address_limit())) / page * page;
}

/// A segment beyond `ulimit -f` shall be an error like any other: for this thread, SIGXFSZ does not
/// come of what happens in this scope. Nobody's disposition is touched. All other signals come
/// after it: before Linux 6.11 any of them makes fallocate give back what it had got, so with one
/// that comes again and again (a profiler's) it would never be done.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old_mask_);
  }
  ~SignalsHeld() {
    const int error = errno;
    if (sigismember(&old_mask_, SIGXFSZ) == 0) {
      sigset_t file_size;
      sigemptyset(&file_size);
      sigaddset(&file_size, SIGXFSZ);
      const timespec at_once{};
      sigtimedwait(&file_size, nullptr, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
    errno = error;
  }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t old_mask_;
};

/// Memory for a piece of the segment; 0 or an errno.
int give_memory(int descriptor, std::uint64_t begin, std::uint64_t bytes) {
  const SignalsHeld held;
  int result = 0;
  do {
    result = fallocate(descriptor, 0, static_cast<off_t>(begin), static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

/// By `ulimit -f`, in whole pages.
std::uint64_t longest_file() {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 ? limit.rlim_cur / page * page : RLIM_INFINITY;
}

bool is_file(const struct stat& status, dev_t device, ino_t file) {
  return status.st_dev == device && status.st_ino == file;
}

/// A descriptor of this file that another process holds, opened here; -1: it holds none, or does
/// not let us look.
int taken_from(pid_t process, dev_t device, ino_t file) {
  const std::string folder = fmt::format("/proc/{}/fd", process);
  DIR* const list = opendir(folder.c_str());
  int found = -1;
  while (list != nullptr && found < 0) {
    const dirent* const entry = readdir(list);
    if (entry == nullptr) {
      break;
    }
    struct stat status {};
    if (fstatat(dirfd(list), entry->d_name, &status, 0) == 0 && is_file(status, device, file)) {
      found = openat(dirfd(list), entry->d_name, O_RDWR | O_CLOEXEC);
    }
  }
  if (list != nullptr) {
    closedir(list);
  }
  return found;
}

/// 0 if it cannot be told, and of the first process.
pid_t parent_of(pid_t process) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("PPid:")) {
      return static_cast<pid_t>(std::atoi(line.c_str() + 5));
    }
  }
  return 0;
}

}  // namespace

int create_segment(int ranks, int workers, Carriers carriers) {
  const int descriptor = memfd_create(segment_name, MFD_CLOEXEC);
  if (descriptor < 0) {
    return -errno;
  }
  const std::uint64_t areas = round_up(sizeof(Header), page);
  const std::uint64_t world = round_up(areas + sizeof(RankArea) * ranks, page);
  const std::uint64_t starts = round_up(world + coll::area_bytes(ranks), page);
  const std::uint64_t heap = starts + start_bytes * static_cast<std::size_t>(ranks);
  const std::uint64_t limit = mapping_limit(ranks);
  void* place = MAP_FAILED;
  errno = heap > limit ? ENOMEM : give_memory(descriptor, 0, heap);
  if (errno == 0) {
    place = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  if (place == MAP_FAILED) {
    const int error = errno;
    close(descriptor);
    return -error;
  }
  auto* header = new (place) Header{};
  header->version = segment_version;
  header->ranks = static_cast<std::uint32_t>(ranks);
  header->ranks_here =
      carriers.ranks_here != 0 ? static_cast<std::uint32_t>(carriers.ranks_here) : header->ranks;
  header->areas = areas;
  header->world_collective = world;
  header->starts = starts;
  header->limit = limit;
  header->memory = machine::usable_memory();
  header->most = std::min({header->limit, header->memory, longest_file()});
  header->workers = static_cast<std::uint32_t>(workers);
  header->runners = static_cast<std::uint32_t>(carriers.runners != 0 ? carriers.runners : ranks);
  header->thread_hosts = static_cast<std::uint32_t>(carriers.thread_hosts);
  header->heap_end = heap;
  header->contexts = 16;  // those before are given (core/comm/context.h)
  header->magic = segment_magic;
  munmap(place, page);
  return descriptor;
}

int Segment::map(int descriptor) {
  // Any file may have this number. Of one that is shorter than a page, a page cannot be read.
  struct stat status {};
  std::remove_const_t<decltype(segment_magic)> magic = 0;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size < static_cast<off_t>(page) ||
      pread(descriptor, &magic, sizeof magic, offsetof(Header, magic)) !=
          static_cast<ssize_t>(sizeof magic) ||
      magic != segment_magic) {
    return EBADF;
  }
  void* place = mmap(nullptr, page, PROT_READ, MAP_SHARED, descriptor, 0);
  if (place == MAP_FAILED) {
    return errno;
  }
  const auto* header = static_cast<const Header*>(place);
  const bool ours = header->version == segment_version;
  const std::uint64_t areas_end = header->world_collective;
  mapped_ = header->limit;
  munmap(place, page);
  if (!ours) {
    return EPROTO;
  }
  place = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (place == MAP_FAILED) {
    return errno;
  }
  base_ = static_cast<char*>(place);
  descriptor_ = descriptor;
  device_ = status.st_dev;
  file_ = status.st_ino;
  // A core file would get the whole address range, gigabytes of holes: where it goes through a pipe
  // to a collector, as zeros. What is left in it is who waits for what, not messages.
  madvise(base_ + areas_end, mapped_ - areas_end, MADV_DONTDUMP);
  return 0;
}

void Segment::unmap() {
  if (base_ != nullptr) {
    munmap(base_, mapped_);
    base_ = nullptr;
  }
}

void Segment::trim() {
  const std::uint64_t used = round_up(header().heap_end.load(std::memory_order_relaxed), page);
  if (used < mapped_ && mprotect(base_ + used, mapped_ - used, PROT_NONE) == 0) {
    trimmed_to_ = used;
  }
}

void Segment::untrim() {
  if (trimmed_to_ == 0) {
    return;
  }
  // Mapped anew: Valgrind looks at each byte of memory that becomes readable by mprotect. In one
  // step, so that nobody else gets the addresses.
  const std::size_t bytes = mapped_ - trimmed_to_;
  if (mmap(base_ + trimmed_to_, bytes, PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_NORESERVE | MAP_FIXED, open_descriptor(),
           static_cast<off_t>(trimmed_to_)) == MAP_FAILED) {
    mprotect(base_ + trimmed_to_, bytes, PROT_READ | PROT_WRITE);
  }
  madvise(base_ + trimmed_to_, bytes, MADV_DONTDUMP);
  trimmed_to_ = 0;
}

/// The segment's descriptor; -1 if the program has closed it and it cannot be had again.
int Segment::open_descriptor() {
  int known = descriptor_;
  struct stat status {};
  if (fstat(known, &status) == 0 && is_file(status, device_, file_)) {
    return known;
  }
  const int again = found_again();
  if (again >= 0) {
    // Beyond the low numbers, which programs count on.
    const int kept = fcntl(again, F_DUPFD_CLOEXEC, known);
    close(again);
    if (kept >= 0 && !descriptor_.compare_exchange_strong(known, kept)) {
      close(kept);
      return known;  // another thread was quicker
    }
    return kept;
  }
  static std::atomic<bool> said = false;
  if (!said.exchange(true)) {
    std::fputs(fmt::format("Meantime: the program has closed file descriptor {}, by which the "
                           "job's shared memory grows: there will be no more of it\n",
                           known)
                   .c_str(),
               stderr);
  }
  return -1;
}

/// From the kernel's list of what we have mapped, which is for the privileged, or from mpiexec,
/// which is among our ancestors and holds one as long as the job lives.
int Segment::found_again() const {
  // The part that has a mapping of its own, see `map`.
  const auto begin = reinterpret_cast<std::uintptr_t>(base_);
  const std::string mapping =
      fmt::format("/proc/self/map_files/{:x}-{:x}", begin, begin + header().world_collective);
  struct stat status {};
  if (const int found = open(mapping.c_str(), O_RDWR | O_CLOEXEC); found >= 0) {
    if (fstat(found, &status) == 0 && is_file(status, device_, file_)) {
      return found;
    }
    close(found);
  }
  for (pid_t process = getppid(); process > 0; process = parent_of(process)) {
    if (const int found = taken_from(process, device_, file_); found >= 0) {
      return found;
    }
  }
  return -1;
}

bool has_left(int descriptor, int world_rank) {
  Segment segment;
  if (descriptor < 0 || segment.map(descriptor) != 0) {
    return false;
  }
  const std::uint32_t state = segment.area(world_rank).report.state.load();
  segment.unmap();
  return state == static_cast<std::uint32_t>(RankState::away) ||
         state == static_cast<std::uint32_t>(RankState::finalized);
}

void note_end(const Segment& segment, int world_rank) {
  auto away = static_cast<std::uint32_t>(RankState::away);
  segment.area(world_rank)
      .report.state.compare_exchange_strong(away, static_cast<std::uint32_t>(RankState::finalized));
}

void note_end(int descriptor, int world_rank) {
  Segment segment;
  if (descriptor >= 0 && segment.map(descriptor) == 0) {
    note_end(segment, world_rank);
    segment.unmap();
  }
}

std::string what_limits(std::uint32_t error) {
  switch (error) {
    case EFBIG:
      return fmt::format("it counts as a file, and `ulimit -f` lets files have {} KiB",
                         longest_file() / 1024);
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
      return "the machine, or the container that the job is in, has no more";
    case addresses_end:
      return "all its addresses are in use; `ulimit -v` may limit them";
    default:
      return "";
  }
}

std::uint64_t Segment::most_bytes() const {
  return std::min({header().limit, header().memory, longest_file()});
}

Link Segment::grow(std::size_t bytes) {
  return grow_up_to(bytes, bytes).place;
}

// Where memory is short, what is asked for may not be there, but a part of it: the file may be no
// longer (ulimit -f), or the kernel has so few pages.
//   The memory first, then its addresses: what is not backed was never reserved, so who asks again
// and again does not use up the addresses. Two may back the same pages. That does no harm: the
// kernel lets one after the other do it, leaves pages that are there as they are, and takes away
// only what it had added itself from who does not get all. (It marks each page that it finds, and
// spares those.) Who is late for the addresses tries again behind them, and what he has backed
// there is for whoever comes to it. Relaxed, because the end is only a number: whoever gives others
// a link into the piece orders what is in it.
Grown Segment::grow_up_to(std::size_t bytes, std::size_t least) {
  bytes = round_up(bytes, page);
  least = round_up(least, page);
  const int descriptor = open_descriptor();
  if (descriptor < 0) {
    return {};
  }
  const std::uint64_t file_end = longest_file();
  const std::uint64_t end = std::min<std::uint64_t>(mapped_, file_end);
  std::uint64_t begin = header().heap_end.load(std::memory_order_relaxed);
  for (;;) {
    std::size_t got = begin < end ? std::min<std::size_t>(bytes, end - begin) : 0;
    if (got < least) {
      header().full_because.store(end == file_end ? EFBIG : addresses_end,
                                  std::memory_order_relaxed);
      return {};
    }
    while (const int error = give_memory(descriptor, begin, got)) {
      header().full_because.store(static_cast<std::uint32_t>(error), std::memory_order_relaxed);
      if (got == least) {
        return {};
      }
      got = std::max(least, round_up(got / 2, page));
    }
    if (header().heap_end.compare_exchange_strong(begin, begin + got, std::memory_order_relaxed)) {
      return {begin, got};
    }
  }
}

constinit Segment detail::host_segment;

}  // namespace meantime::node
