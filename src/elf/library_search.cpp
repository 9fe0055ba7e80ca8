#include "elf/library_search.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <sstream>
#include <string_view>

namespace meantime::launch {

namespace {

#if defined(__aarch64__)
constexpr std::string_view multiarch = "aarch64-linux-gnu";
#else
constexpr std::string_view multiarch = "x86_64-linux-gnu";
#endif

bool is_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string expand(std::string folder, const std::string& file) {
  std::string origin = file.substr(0, file.find_last_of('/'));
  for (const char* name : {"$ORIGIN", "${ORIGIN}"}) {
    replace_all(folder, name, origin);
  }
  for (const char* name : {"$LIB", "${LIB}"}) {
    replace_all(folder, name, "lib/" + std::string(multiarch));
  }
  return folder;
}

std::string search(const std::string& folders, const std::string& file, const std::string& name) {
  std::stringstream stream(folders);
  for (std::string folder; std::getline(stream, folder, ':');) {
    std::string path = folder.empty() ? name : expand(folder, file) + "/" + name;
    if (is_file(path)) {
      return path;
    }
  }
  return {};
}

// /etc/ld.so.cache as glibc has written it since 2.32 (sysdeps/generic/dl-cache.h).
struct CacheHeader {
  char magic[20];
  std::uint32_t libraries;
  std::uint32_t strings_bytes;
  std::uint32_t unused[5];
};
struct CacheEntry {
  std::int32_t flags;
  std::uint32_t key;
  std::uint32_t value;
  std::uint32_t system_version;
  std::uint64_t hardware;
};

std::string search_cache(const std::string& name) {
  int file = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return {};
  }
  struct stat status {};
  std::string found;
  if (fstat(file, &status) == 0 && status.st_size > static_cast<off_t>(sizeof(CacheHeader))) {
    auto size = static_cast<std::size_t>(status.st_size);
    void* place = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (place != MAP_FAILED) {
      const char* bytes = static_cast<const char*>(place);
      const auto* header = static_cast<const CacheHeader*>(place);
      const auto* entries = reinterpret_cast<const CacheEntry*>(bytes + sizeof(CacheHeader));
      std::size_t count = (size - sizeof(CacheHeader)) / sizeof(CacheEntry);
      if (std::memcmp(header->magic, "glibc-ld.so.cache1.1", sizeof header->magic) == 0 &&
          header->libraries <= count) {
        for (std::size_t i = 0; i < header->libraries && found.empty(); ++i) {
          const CacheEntry& entry = entries[i];
          if (entry.key + name.size() < size && entry.value < size &&
              std::memcmp(bytes + entry.key, name.c_str(), name.size() + 1) == 0) {
            std::string path(bytes + entry.value, strnlen(bytes + entry.value, size - entry.value));
            if (path.find("32/") == std::string::npos && path.find("/i386") == std::string::npos) {
              found = path;
            }
          }
        }
      }
      munmap(place, size);
    }
  }
  close(file);
  return found;
}

}  // namespace

FoundLibrary find_library(const std::string& name, const LoadedFile& file,
                          const std::string& library_path) {
  if (name.find('/') != std::string::npos) {
    std::string path = expand(name, file.path);
    return {is_file(path) ? path : std::string(), true};
  }
  if (file.elf.run_path().empty()) {
    for (const LoadedFile* here = &file; here != nullptr; here = here->loader) {
      if (!here->elf.old_run_path().empty() && here->elf.run_path().empty()) {
        if (std::string path = search(here->elf.old_run_path(), here->path, name); !path.empty()) {
          return {path, true};
        }
      }
    }
  }
  if (std::string path = search(library_path, file.path, name); !path.empty()) {
    return {path};
  }
  if (std::string path = search(file.elf.run_path(), file.path, name); !path.empty()) {
    return {path};
  }
  if (std::string path = search_cache(name); !path.empty()) {
    return {path};
  }
  std::string defaults;
  for (const char* root : {"/lib", "/usr/lib"}) {
    defaults += std::string(root) + "/" + std::string(multiarch) + ":" + root + "64:" + root + ":";
  }
  defaults.pop_back();
  return {search(defaults, file.path, name)};
}

}  // namespace meantime::launch
