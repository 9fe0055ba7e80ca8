#include "settings/loaded_library.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "settings/way_to_file.h"

namespace meantime::settings {
namespace {

/// What a library must not be, so that nobody but its owner decides what is in it.
std::string ownership_problem(const struct stat& status, const char* what) {
  if (status.st_uid != 0 && status.st_uid != geteuid()) {
    return fmt::format("its {} belongs to somebody else than you or root", what);
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fmt::format("its {} may be written by others", what);
  }
  return {};
}

/// The loader maps what the program headers name, unseen, and touches it: what is missing at the
/// end of the file it meets as SIGBUS. All else that may be wrong with a library it says itself.
std::string size_problem(int file, off_t size) {
  Elf64_Ehdr header{};
  if (pread(file, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return {};
  }
  const auto bytes = static_cast<std::uint64_t>(size);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    const auto place = static_cast<off_t>(header.e_phoff + i * sizeof segment);
    if (pread(file, &segment, sizeof segment, place) != static_cast<ssize_t>(sizeof segment)) {
      return {};
    }
    if (segment.p_type == PT_LOAD &&
        (segment.p_offset > bytes || segment.p_filesz > bytes - segment.p_offset)) {
      return fmt::format("it is cut off: {} bytes of at least {}", bytes,
                         segment.p_offset + segment.p_filesz);
    }
  }
  return {};
}

}  // namespace

std::string library_refusal(const std::string& path, int* descriptor) {
  *descriptor = -1;
  if (getauxval(AT_SECURE) != 0) {
    return "this program runs with more rights than its user";
  }
  if (!path.starts_with('/')) {
    return "its path must be absolute";
  }
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return std::strerror(errno);
  }
  struct stat status {};
  struct stat folder {};
  std::string refusal;
  char* real = realpath(path.c_str(), nullptr);
  const std::string parent =
      real != nullptr ? std::string(real).substr(0, std::string(real).rfind('/') + 1) : "/";
  std::free(real);
  if (fstat(file, &status) != 0 || stat(parent.c_str(), &folder) != 0) {
    refusal = std::strerror(errno);
  } else if (!S_ISREG(status.st_mode)) {
    refusal = "it is no regular file";
  } else {
    refusal = ownership_problem(status, "file");
    refusal = refusal.empty() ? ownership_problem(folder, "folder") : refusal;
    refusal = refusal.empty() ? way_problem(path, status) : refusal;
    refusal = refusal.empty() ? size_problem(file, status.st_size) : refusal;
  }
  if (!refusal.empty()) {
    close(file);
    return refusal;
  }
  *descriptor = file;
  return {};
}

}  // namespace meantime::settings
