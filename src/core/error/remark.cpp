#include "core/error/remark.h"

#include <fmt/format.h>

#include <cstdio>
#include <set>

#include "base/lock.h"
#include "node/control_client.h"
#include "rank/rank.h"
#include "settings/shown.h"

namespace meantime::core {

void remark(const Rank& rank, const std::string& topic, std::string_view line) {
  static Mutex mutex;
  static auto& told MEANTIME_GUARDED_BY(mutex) = *new std::set<std::string>;  // by this process
  {
    const LockGuard guard(mutex);
    if (!told.insert(topic).second) {
      return;
    }
  }
  // Of the job's other processes mpiexec knows.
  if (rank.control == nullptr || !rank.control->remark(topic, line)) {
    std::fputs(fmt::format("Meantime: {}\n", settings::shown_lines(line)).c_str(), stderr);
  }
}

}  // namespace meantime::core
