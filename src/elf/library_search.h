// Where the run-time linker would find a library: the rules of ld.so(8), from outside and without
// starting anything. DT_RPATH of the file and of those that loaded it (unless the file has a
// DT_RUNPATH), LD_LIBRARY_PATH, DT_RUNPATH, /etc/ld.so.cache, the default folders.
#pragma once

#include <string>
#include <vector>

#include "elf/elf_file.h"

namespace meantime::launch {

/// A file whose libraries are looked for, with who loaded it.
struct LoadedFile {
  std::string path;
  ElfFile elf;
  const LoadedFile* loader = nullptr;
};

struct FoundLibrary {
  std::string path;          ///< empty: not found
  bool by_old_path = false;  ///< through a DT_RPATH, which LD_LIBRARY_PATH cannot override
};

/// `library_path`: the value of LD_LIBRARY_PATH that the program will see.
FoundLibrary find_library(const std::string& name, const LoadedFile& file,
                          const std::string& library_path);

}  // namespace meantime::launch
