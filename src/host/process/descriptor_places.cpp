#include "host/process/descriptor_places.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <deque>

#include "host/process/own_descriptor.h"

namespace meantime::host {
namespace {

std::atomic<int> above_all{3};
std::atomic<int> makers{0};

struct Inherited {
  std::atomic<int> place;  ///< -1: no rank has it any more
  std::atomic<int> users{0};

  explicit Inherited(int number) : place(number) {}
};

std::deque<Inherited>& inherited() {
  static auto& all = *new std::deque<Inherited>;
  return all;
}

}  // namespace

int raw_close(int place) {
  return static_cast<int>(syscall(SYS_close, place));
}
int raw_fcntl(int place, int command, long argument) {
  return static_cast<int>(syscall(SYS_fcntl, place, command, argument));
}
int raw_dup3(int from, int to) {
  return static_cast<int>(syscall(SYS_dup3, from, to, O_CLOEXEC));
}

void set_owner(int place, Owner owner) {
  if (static_cast<unsigned>(place) >= most_places) {
    return;
  }
  owners()[place].store(owner);
  int before = above_all.load(std::memory_order_relaxed);
  while (before <= place && !above_all.compare_exchange_weak(before, place + 1)) {
  }
}

int end_of_places() {
  return above_all.load();
}

bool is_strays(int place) {
  return raw_fcntl(place, F_GETFD) >= 0 && makers.load() == 0 && owner(place) == nobody;
}

int hole() {
  static const int place =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  static const bool noted = (set_owner(place, behind), true);
  return noted ? place : -1;
}

void enter_inherited() {
  for (Inherited& each : inherited()) {
    each.users.fetch_add(1);
  }
}

void leave_inherited(int number) {
  for (Inherited& each : inherited()) {
    if (each.place == number && each.users.fetch_sub(1) == 1) {
      each.place = -1;
      set_owner(number, nobody);
      raw_close(number);
    }
  }
}

bool is_inherited(int number) {
  return number >= 0 && std::any_of(inherited().begin(), inherited().end(),
                                    [&](const Inherited& each) { return each.place == number; });
}

std::vector<int> inherited_numbers() {
  std::vector<int> numbers;
  for (const Inherited& each : inherited()) {
    if (const int place = each.place; place >= 0) {
      numbers.push_back(place);
    }
  }
  return numbers;
}

Making::Making() {
  makers.fetch_add(1);
}
Making::~Making() {
  makers.fetch_sub(1);
}

int note_inherited_descriptors(const std::vector<int>& of_meantime) {
  if (owners() == MAP_FAILED) {
    return ENOMEM;
  }
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) {
    return errno;
  }
  while (const dirent* each = readdir(folder)) {
    const int place = std::atoi(each->d_name);
    if (place <= 2 || place == dirfd(folder)) {
      continue;
    }
    set_owner(place, hosts);
    if (std::find(of_meantime.begin(), of_meantime.end(), place) == of_meantime.end()) {
      inherited().emplace_back(place);
    }
  }
  closedir(folder);
  hole();
  return 0;
}

}  // namespace meantime::host
