// An ELF file from which private copies are made, one for each rank: what has to be changed in a
// copy so that the run-time linker takes it for a library of its own, and what it must not see,
// because we do it ourselves on the rank's own stack.
//   cleared     "this is an executable" (DF_1_PIE), read-only after relocation (it costs a map),
//               constructors and destructors (run by Image), uniqueness over the process of C++
//               symbols (STB_GNU_UNIQUE), the block of thread-local variables and what refers to it
//               (closure_threads.cpp), needed libraries that are shared (the host has loaded them
//               for all: names are looked for in the image first, as in a process of its own)
//   renamed     the needed libraries that are private too: in each copy other names
//   read-only   and large tables without addresses in them: is mapped from the original file over
//   the copy once it is loaded, so all share it
// Reads one file; loads nothing.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/image/private_data.h"

namespace meantime::host {

namespace elf {
constexpr std::uint64_t page = 4096;
constexpr std::uint64_t down(std::uint64_t value) {
  return value & ~(page - 1);
}
constexpr std::uint64_t up(std::uint64_t value) {
  return down(value + page - 1);
}
/// A tag that the run-time linker skips.
constexpr Elf64_Sxword hidden_tag = DT_DEBUG;
}  // namespace elf

/// Where a copy refers to data of libc that every rank has its own of (stdout, optind …).
struct DataReference {
  std::uint64_t address;  ///< in the file's own address space
  Datum datum;
  std::string name;
  std::int64_t addend;
  bool is_copy;  ///< the data themselves lie here (a COPY relocation), not a pointer to them
};

/// Data of a library that the program has in its own memory (a COPY relocation).
struct CopiedData {
  std::uint64_t address;  ///< in the program
  std::uint64_t bytes;
  std::string name;
};

/// Where a copy keeps the address of a function of libc that is another one for ranks' programs
/// than for libraries that all share.
struct LookupReference {
  std::uint64_t address;
  enum class Function { dlsym, dlvsym, syscall } function;
};

/// The block of thread-local variables as a file has it; `bytes` is 0 if it has none.
struct ThreadBlock {
  std::uint64_t address = 0;
  std::size_t file_bytes = 0;  ///< what they begin as; the rest is zero
  std::size_t bytes = 0;
  std::size_t alignment = 1;
};

/// A relocation about a thread-local variable.
struct ThreadReference {
  std::size_t relocation;  ///< for ElfTemplate::take_over
  std::uint64_t address;
  std::uint32_t type;
  std::int64_t addend;
  std::string name;         ///< empty: `value` in this file's own block
  std::uint64_t value = 0;  ///< then
};

class ElfTemplate {
 public:
  ElfTemplate() = default;
  ElfTemplate(const ElfTemplate&) = delete;
  ElfTemplate& operator=(const ElfTemplate&) = delete;
  ~ElfTemplate();

  /// `is_private` says which needed libraries get other names. Empty, or why no copy can be made.
  std::string open(const std::string& path, bool (*is_private)(const std::string& library));

  const std::string& path() const { return path_; }
  /// Both in the order in which the file needs them.
  const std::vector<std::string>& private_libraries() const { return private_libraries_; }
  const std::vector<std::string>& shared_libraries() const { return shared_libraries_; }

  /// Writes one copy to an empty memfd. `names` are what its private libraries are called there;
  /// each is shorter than longest_name.
  bool write_copy(int descriptor, const std::vector<std::string>& names) const;
  static constexpr std::size_t longest_name = 96;

  /// A piece that is the same in all copies and comes from the original file.
  struct SharedPiece {
    std::uint64_t address;  ///< whole pages
    std::uint64_t offset;
    std::size_t bytes;
    int protection;
  };
  const std::vector<SharedPiece>& shared_pieces() const { return shared_pieces_; }
  /// A piece of variables, whole pages; what the linker has set to zero follows.
  struct OwnPiece {
    std::uint64_t address;
    std::size_t bytes;
  };
  const std::vector<OwnPiece>& own_pieces() const { return own_pieces_; }
  int original() const { return original_; }

  std::uint64_t entry() const;
  struct Functions {
    std::uint64_t first = 0;  ///< DT_INIT or DT_FINI; 0: none
    std::uint64_t array = 0;
    std::size_t count = 0;
  };
  const Functions& preinitialisers() const { return preinitialisers_; }
  const Functions& initialisers() const { return initialisers_; }
  const Functions& finalisers() const { return finalisers_; }
  struct Function {
    const char* name = nullptr;  ///< as in the file, mangled; nullptr: not known
    std::uint64_t address = 0;   ///< where it begins
  };
  Function function_at(std::uint64_t address) const;
  const ThreadBlock& thread_block() const { return thread_block_; }
  const std::vector<ThreadReference>& thread_references() const { return thread_references_; }
  /// The run-time linker will not see it.
  void take_over(const ThreadReference& reference);
  /// Its stack is to hold code (functions inside functions, in C and Fortran).
  bool wants_executable_stack() const { return wants_executable_stack_; }
  const std::vector<DataReference>& data_references() const { return data_references_; }
  const std::vector<CopiedData>& copied_data() const { return copied_data_; }
  const std::vector<LookupReference>& lookup_references() const { return lookup_references_; }
  /// Calls `found(name, symbol)` for every symbol that others may use. Old versions, for old
  /// programs, are left out.
  template <class Found>
  void for_each_definition(Found&& found) const {
    for_each_definition_of_any_version([&](const char* name, const Elf64_Sym& symbol, bool old) {
      if (!old) {
        found(name, symbol);
      }
    });
  }
  template <class Found>
  void for_each_definition_of_any_version(Found&& found) const {
    const auto* symbols = at_address<const Elf64_Sym>(symbols_, symbol_count_);
    const auto* versions = at_address<const Elf64_Half>(versions_, symbol_count_);
    constexpr Elf64_Half hidden = 0x8000;
    for (std::size_t i = 1; symbols != nullptr && i < symbol_count_; ++i) {
      if (symbols[i].st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbols[i].st_info) != STB_LOCAL) {
        found(name(symbols[i].st_name), symbols[i],
              versions_ != 0 && versions != nullptr && (versions[i] & hidden) != 0);
      }
    }
  }
  /// The name of a definition's version; empty: it has none.
  const char* version_of(const Elf64_Sym& symbol) const;

 private:
  template <class T>
  T* at(std::uint64_t offset, std::size_t count = 1) const {
    if (offset > size_ || count > (size_ - offset) / sizeof(T)) {
      return nullptr;
    }
    return reinterpret_cast<T*>(bytes_ + offset);
  }
  template <class T>
  T* at_address(std::uint64_t address, std::size_t count = 1) const {
    for (int i = 0; i < segment_count_; ++i) {
      const Elf64_Phdr& segment = segments_[i];
      if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
          address - segment.p_vaddr < segment.p_filesz) {
        return at<T>(address - segment.p_vaddr + segment.p_offset, count);
      }
    }
    return nullptr;
  }
  const char* name(std::uint64_t index) const;
  std::string read_segments();
  std::string read_dynamic(bool (*is_private)(const std::string&));
  void take_over_functions();
  void make_symbols_common();
  Elf64_Rela* relocation(std::size_t index) const;
  void find_references();
  void note_lookup(std::uint64_t address, std::string_view name);
  void note_thread_reference(std::size_t index, const Elf64_Sym* symbols);
  bool make_room_in_padding();
  std::string make_room_for_names();
  void rename_libraries(bool (*is_private)(const std::string&));
  void plan_copy();
  void write(std::uint64_t offset, std::size_t bytes);
  void share(const SharedPiece& piece);
  void plan_variables(const SharedPiece& whole, bool all);

  std::string path_;
  int original_ = -1;
  unsigned char* bytes_ = nullptr;  ///< a private mapping of the file, changed
  std::size_t size_ = 0;
  Elf64_Phdr* segments_ = nullptr;
  int segment_count_ = 0;
  Elf64_Dyn* dynamic_ = nullptr;
  std::size_t dynamic_count_ = 0;
  std::uint64_t strings_ = 0;  ///< addresses
  std::uint64_t symbols_ = 0;
  std::size_t symbol_count_ = 0;
  std::uint64_t versions_ = 0;
  std::uint64_t defined_versions_ = 0;
  struct RelocationTable {
    std::uint64_t address = 0;
    std::size_t count = 0;
  };
  RelocationTable relocations_[2];  ///< DT_RELA, DT_JMPREL
  bool wants_executable_stack_ = true;
  bool text_is_run_early_ = false;  ///< by indirect functions, while it is relocated

  ThreadBlock thread_block_;
  Functions preinitialisers_, initialisers_, finalisers_;
  std::vector<std::string> private_libraries_;
  std::vector<std::string> shared_libraries_;
  std::vector<DataReference> data_references_;
  std::vector<CopiedData> copied_data_;
  std::vector<LookupReference> lookup_references_;
  std::vector<ThreadReference> thread_references_;
  std::uint64_t names_address_ = 0;
  std::uint64_t names_offset_ = 0;

  struct Range {
    std::uint64_t offset;
    std::size_t bytes;
  };
  std::vector<Range> written_;
  std::vector<SharedPiece> shared_pieces_;
  std::vector<OwnPiece> own_pieces_;
};

}  // namespace meantime::host
