#include "machine/frequency.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include "base/clock.h"
#include "machine/small_file.h"

namespace meantime::machine {
namespace {

/// The files of a knob.
struct KnobFiles {
  const char* written;
  const char* low;  ///< has the low value; or, for epp, the values that there are
};

constexpr KnobFiles files_of(Knob knob) {
  switch (knob) {
    case Knob::max_freq:
      return {"scaling_max_freq", "cpuinfo_min_freq"};
    case Knob::setspeed:
      return {"scaling_setspeed", "scaling_min_freq"};
    case Knob::epp:
      break;
  }
  return {"energy_performance_preference", "energy_performance_available_preferences"};
}

constexpr char lowest_preference[] = "power";

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char letter) { return letter >= '0' && letter <= '9'; });
}

bool is_within(const cpu_set_t& inner, const cpu_set_t& outer) {
  cpu_set_t both;
  CPU_AND(&both, &inner, &outer);
  return CPU_EQUAL(&both, &inner) != 0;
}

bool share_cpus(const cpu_set_t& one, const cpu_set_t& other) {
  cpu_set_t both;
  CPU_AND(&both, &one, &other);
  return CPU_COUNT(&both) > 0;
}

/// The names policyN in it, in order of N.
std::vector<std::string> policies_in(const std::string& folder) {
  std::vector<std::string> names;
  DIR* entries = opendir(folder.c_str());
  for (const dirent* entry = nullptr;
       entries != nullptr && (entry = readdir(entries)) != nullptr;) {
    if (std::strncmp(entry->d_name, "policy", 6) == 0) {
      names.emplace_back(entry->d_name);
    }
  }
  if (entries != nullptr) {
    closedir(entries);
  }
  std::sort(names.begin(), names.end(), [](const std::string& one, const std::string& other) {
    return std::atoi(one.c_str() + 6) < std::atoi(other.c_str() + 6);
  });
  return names;
}

/// Its first line, empty if it cannot be read.
std::string get(int descriptor) {
  std::array<char, 256> buffer;
  const ssize_t bytes = pread(descriptor, buffer.data(), buffer.size(), 0);
  std::string text(buffer.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  text.resize(std::min(text.find('\n'), text.size()));
  text.resize(text.find_last_not_of(" \r") + 1);
  return text;
}

/// The whole value in one write, as the kernel wants it. 0 or an errno.
int put(int descriptor, const std::string& value) {
  (void)!ftruncate(descriptor, 0);  // of a test's file; the kernel's own do not care
  const ssize_t written = pwrite(descriptor, value.data(), value.size(), 0);
  return written == static_cast<ssize_t>(value.size()) ? 0 : written < 0 ? errno : EIO;
}

}  // namespace

Frequencies::~Frequencies() {
  forget_all();
}

void Frequencies::forget_all() {
  for (const Domain& domain : domains_) {
    close(domain.descriptor);
  }
  if (marks_ != nullptr) {
    munmap(marks_, domains_.size());
  }
  marks_ = nullptr;
  domains_.clear();
}

std::string Frequencies::prepare(Knob knob, const std::vector<cpu_set_t>& masks,
                                 const std::string& root) {
  knob_ = knob;
  requests_.assign(masks.size(), false);
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const cpu_set_t& mask : masks) {
    CPU_OR(&all, &all, &mask);
  }
  const std::string folder = root + "/sys/devices/system/cpu/cpufreq";
  const std::vector<std::string> policies = policies_in(folder);
  if (policies.empty()) {
    return fmt::format("this machine does not let its frequencies be set ({} has no policies)",
                       folder);
  }
  for (const std::string& policy : policies) {
    if (std::string problem = add_domain(fmt::format("{}/{}", folder, policy), masks, all);
        !problem.empty()) {
      forget_all();
      return problem;
    }
  }
  if (domains_.empty()) {
    return "no clock is this job's alone: each is shared with CPUs that none of its ranks has";
  }
  return share_marks() ? std::string() : fmt::format("no memory: {}", std::strerror(errno));
}

/// Nothing is added if its clock is not this job's alone.
std::string Frequencies::add_domain(const std::string& folder, const std::vector<cpu_set_t>& masks,
                                    const cpu_set_t& all) {
  const cpu_set_t cpus = cpus_in(first_line(folder + "/affected_cpus"));
  if (CPU_COUNT(&cpus) == 0 || !is_within(cpus, all)) {
    return {};
  }
  if (knob_ == Knob::setspeed) {
    if (const std::string governor = first_line(folder + "/scaling_governor");
        governor != "userspace") {
      return fmt::format("{}/scaling_governor is '{}': setspeed needs 'userspace'", folder,
                         governor);
    }
  }
  const KnobFiles files = files_of(knob_);
  Domain domain;
  domain.file = folder + "/" + files.written;
  domain.low = first_line(folder + "/" + files.low);
  if (knob_ == Knob::epp) {
    const std::string values = " " + domain.low + " ";
    domain.low = values.find(fmt::format(" {} ", lowest_preference)) == std::string::npos
                     ? ""
                     : lowest_preference;
  }
  domain.descriptor = open(domain.file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (domain.descriptor < 0) {
    return fmt::format("{} cannot be written: {}", domain.file, std::strerror(errno));
  }
  if (flock(domain.descriptor, LOCK_EX | LOCK_NB) != 0) {
    close(domain.descriptor);
    return fmt::format("{} is in use by another job", domain.file);
  }
  // Only now: before, it may have been what another job had lowered it to.
  domain.normal = get(domain.descriptor);
  const bool sensible = knob_ == Knob::epp ? !domain.normal.empty() && !domain.low.empty()
                                           : is_number(domain.normal) && is_number(domain.low);
  if (!sensible) {
    close(domain.descriptor);
    return fmt::format("{} says '{}' and {} '{}': there is nothing to lower", domain.file,
                       domain.normal, files.low, domain.low);
  }
  for (std::size_t rank = 0; rank < masks.size(); ++rank) {
    if (share_cpus(masks[rank], cpus)) {
      domain.ranks.push_back(static_cast<int>(rank));
    }
  }
  domains_.push_back(std::move(domain));
  return {};
}

bool Frequencies::share_marks() {
  void* memory =
      mmap(nullptr, domains_.size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    forget_all();
    return false;
  }
  marks_ = new (memory) std::atomic<std::uint8_t>[domains_.size()]();
  return true;
}

std::string Frequencies::request(int rank, bool low) {
  if (closed_ || !prepared() || rank < 0 || requests_[rank] == low) {
    return {};
  }
  requests_[rank] = low;
  for (std::size_t number = 0; number < domains_.size(); ++number) {
    const Domain& domain = domains_[number];
    if (std::find(domain.ranks.begin(), domain.ranks.end(), rank) == domain.ranks.end()) {
      continue;
    }
    const bool all_request = std::all_of(domain.ranks.begin(), domain.ranks.end(),
                                         [this](int each) { return requests_[each]; });
    std::string problem = all_request ? lower(number) : normalise(number);
    if (!problem.empty()) {
      const std::string more = undo();
      return more.empty() ? problem + "; frequencies stay as they were" : more;
    }
  }
  return {};
}

std::string Frequencies::lower(std::size_t number) {
  Domain& domain = domains_[number];
  marks_[number].store(1, std::memory_order_release);  // known before it happens
  if (const int error = put(domain.descriptor, domain.low); error != 0) {
    return fmt::format("{} cannot be set to {}: {}", domain.file, domain.low, std::strerror(error));
  }
  ++times_lowered_;
  domain.lowered_since = now_seconds();
  return {};
}

std::string Frequencies::normalise(std::size_t number) {
  Domain& domain = domains_[number];
  if (marks_[number].load(std::memory_order_acquire) == 0) {
    return {};
  }
  if (const int error = put(domain.descriptor, domain.normal); error != 0) {
    return fmt::format("{} cannot be set back to {}: {}", domain.file, domain.normal,
                       std::strerror(error));
  }
  marks_[number].store(0, std::memory_order_release);
  if (domain.lowered_since > 0) {  // else another process lowered it
    seconds_lowered_ += now_seconds() - domain.lowered_since;
    domain.lowered_since = 0;
  }
  return {};
}

void Frequencies::restore() {
  std::fill(requests_.begin(), requests_.end(), false);
  for (std::size_t number = 0; number < domains_.size(); ++number) {
    normalise(number);
  }
}

std::string Frequencies::undo() {
  closed_ = true;
  std::string problem;
  for (std::size_t number = 0; number < domains_.size(); ++number) {
    if (std::string one = normalise(number); problem.empty()) {
      problem = std::move(one);
    }
  }
  if (problem.empty()) {
    for (const Domain& domain : domains_) {
      flock(domain.descriptor, LOCK_UN);  // of all processes that have it
    }
  }
  return problem;
}

std::string Frequencies::summary() const {
  return fmt::format("{} of {} clock{} lowered {} times, for {:.3f} s together",
                     files_of(knob_).written, domains_.size(), domains_.size() == 1 ? "" : "s",
                     times_lowered_, seconds_lowered_);
}

}  // namespace meantime::machine
