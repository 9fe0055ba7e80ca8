#include "settings/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace meantime::settings {

std::string read_text_file(const std::string& path, std::string* text) {
  text->clear();
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) {
    return std::strerror(errno);
  }
  struct stat status {};
  std::string problem;
  if (fstat(file, &status) != 0) {
    problem = std::strerror(errno);
  } else if (!S_ISREG(status.st_mode)) {
    problem = "it is not a regular file";
  }
  char buffer[16 * 1024];
  for (ssize_t got = 1; problem.empty() && got > 0;) {
    got = read(file, buffer, sizeof buffer);
    if (got < 0) {
      problem = std::strerror(errno);
    } else {
      text->append(buffer, static_cast<std::size_t>(got));
    }
    if (text->size() > longest_text_file) {
      problem = "it is too long";
    }
  }
  close(file);
  return problem;
}

}  // namespace meantime::settings
