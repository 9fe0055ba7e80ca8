// An ELF file from which private copies are made, one for each rank: what has to be changed in a
// copy so that the run-time linker takes it for a library of its own, and what it must not see,
// because we do it ourselves on the rank's own stack.
//   cleared     "this is an executable" (DF_1_PIE), read-only after relocation (it costs a map),
//               constructors and destructors (run by Image), uniqueness over the process of C++
//               symbols (STB_GNU_UNIQUE)
//   renamed     the needed libraries that are private too: in each copy other names
//   text        is not copied: it is mapped from the original file over the copy
// Reads one file; loads nothing.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace meantime::host {

/// Where a copy refers to data of libc that every rank has its own of (stdout, optind …).
struct DataReference {
  std::uint64_t address;  ///< in the file's own address space
  int which;              ///< index in private_data()
  std::int64_t addend;
  bool is_copy;  ///< the data themselves lie here (a COPY relocation), not a pointer to them
};

/// Data of a library that the program has in its own memory (a COPY relocation).
struct CopiedData {
  std::uint64_t address;  ///< in the program
  std::uint64_t bytes;
  std::string name;
};

/// Where a copy keeps the address of an MPI call, which a library of the program may wrap.
struct CallReference {
  std::uint64_t address;
  std::string name;
  std::int64_t addend;
};

class ElfTemplate {
 public:
  ElfTemplate() = default;
  ElfTemplate(const ElfTemplate&) = delete;
  ElfTemplate& operator=(const ElfTemplate&) = delete;
  ~ElfTemplate();

  /// `is_private` says which needed libraries get other names. Empty, or why no copy can be made.
  std::string open(const std::string& path, bool is_executable,
                   bool (*is_private)(const std::string& library));

  const std::string& path() const { return path_; }
  /// In the order in which the file needs them.
  const std::vector<std::string>& private_libraries() const { return private_libraries_; }

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
  const Elf64_Phdr* thread_data() const { return thread_data_; }
  const std::vector<DataReference>& data_references() const { return data_references_; }
  const std::vector<CopiedData>& copied_data() const { return copied_data_; }
  const std::vector<CallReference>& call_references() const { return call_references_; }
  /// Calls `found(symbol's name, address)` for every symbol that others may use.
  template <class Found>
  void for_each_definition(Found&& found) const {
    const auto* symbols = at_address<const Elf64_Sym>(symbols_, symbol_count_);
    const auto* versions = at_address<const Elf64_Half>(versions_, symbol_count_);
    constexpr Elf64_Half hidden = 0x8000;  // an old version, for old programs
    for (std::size_t i = 1; symbols != nullptr && i < symbol_count_; ++i) {
      if (symbols[i].st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbols[i].st_info) != STB_LOCAL &&
          (versions_ == 0 || versions == nullptr || (versions[i] & hidden) == 0)) {
        found(name(symbols[i].st_name), symbols[i].st_value);
      }
    }
  }

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
  std::string read_segments(bool is_executable);
  std::string read_dynamic(bool (*is_private)(const std::string&));
  void take_over_functions();
  void make_symbols_common();
  void find_data_references();
  std::string make_room_for_names();
  void rename_libraries(bool (*is_private)(const std::string&));
  void plan_copy();

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
  bool text_is_run_early_ = false;  ///< by indirect functions, while it is relocated

  Elf64_Phdr* thread_data_ = nullptr;
  Functions preinitialisers_, initialisers_, finalisers_;
  std::vector<std::string> private_libraries_;
  std::vector<DataReference> data_references_;
  std::vector<CopiedData> copied_data_;
  std::vector<CallReference> call_references_;
  std::uint64_t names_address_ = 0;
  std::uint64_t names_offset_ = 0;

  struct Range {
    std::uint64_t offset;
    std::size_t bytes;
  };
  std::vector<Range> written_;
  std::vector<SharedPiece> shared_pieces_;
};

/// Names of libc's data that every rank has its own of; DataReference::which counts them.
const std::vector<std::string>& private_data();

}  // namespace meantime::host
