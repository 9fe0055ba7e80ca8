#include "launch/report/report_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "launch/messages.h"
#include "settings/shown.h"

namespace meantime::launch {

void ask_for_report_by_setting(Job& job) {
  const std::string said = job.setting("MEANTIME_REPORT");
  if (job.command.reports() || said.empty() || said == "0") {
    return;
  }
  if (said == "1") {
    job.command.report = true;
  } else {
    job.command.report_files.push_back(said);
  }
}

std::string open_report_files(Job& job) {
  std::vector<const char*> made;
  for (const std::string& file : job.command.report_files) {
    struct stat status {};
    const bool is_new = lstat(file.c_str(), &status) != 0;
    const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) {
      const int error = errno;
      for (const char* name : made) {
        unlink(name);
      }
      return fmt::format("--report: cannot write '{}': {}", settings::shown_path(file),
                         std::strerror(error));
    }
    job.report_files.push_back(descriptor);
    if (is_new) {
      made.push_back(file.c_str());
    }
  }
  return {};
}

std::string open_report_files_of_node(Job& job) {
  const auto first = std::find_if(job.ranks.begin(), job.ranks.end(),
                                  [](const RankProcess& rank) { return !rank.elsewhere; });
  for (std::string& file : job.command.report_files) {
    file += fmt::format(".node-of-rank-{}", first - job.ranks.begin());
  }
  return open_report_files(job);
}

void remove_empty_reports(const Job& job) {
  for (std::size_t file = 0; file < job.report_files.size(); ++file) {
    remove_empty_file(job.report_files[file], job.command.report_files[file]);
  }
}

}  // namespace meantime::launch
