// What an ELF file tells about itself without running it: the libraries it needs, where it wants
// them looked for, and the symbols it imports. 64-bit files of this machine's processor only.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace meantime::launch {

/// "it is a program for 64-bit Arm, and this machine is x86-64"; empty of any other file.
std::string foreign_processor(const std::string& path);

class ElfFile {
 public:
  ElfFile() = default;
  ~ElfFile();
  ElfFile(ElfFile&& other) noexcept;
  ElfFile& operator=(ElfFile&& other) noexcept;

  /// False if the file cannot be read or is not such an ELF file. A damaged file gives what could
  /// be read; nothing outside the file is ever touched.
  bool open(const std::string& path);

  [[nodiscard]] const std::vector<std::string>& needed() const { return needed_; }
  [[nodiscard]] const std::string& run_path() const { return run_path_; }          ///< DT_RUNPATH
  [[nodiscard]] const std::string& old_run_path() const { return old_run_path_; }  ///< DT_RPATH
  [[nodiscard]] bool dynamic() const { return dynamic_; }

  /// Runs at any address (as all libraries do).
  [[nodiscard]] bool position_independent() const { return position_independent_; }
  /// Bytes of its thread-local variables.
  [[nodiscard]] std::size_t thread_bytes() const { return thread_bytes_; }
  /// A symbol with this beginning, its own or imported, is in the full symbol table or the dynamic
  /// one.
  [[nodiscard]] bool has_symbol(const std::string& prefix) const;

  /// Whether a function of either table has this address in it.
  [[nodiscard]] bool in_function(std::size_t address) const;

  /// Asks for no interpreter: nobody loads libraries for it.
  [[nodiscard]] bool without_interpreter() const { return !interpreted_; }
  /// Loading it calls functions of it: resolvers of its indirect functions (IFUNC).
  [[nodiscard]] bool runs_when_loaded() const;
  /// Calls `found(name)` for each symbol that others may use.
  template <class Found>
  void for_each_definition(Found&& found) const {
    for_each_symbol([&](const char* name, bool defined) {
      if (defined) {
        found(name);
      }
    });
  }

  /// Names of undefined dynamic symbols that begin with `prefix`.
  [[nodiscard]] std::vector<std::string> imports(const std::string& prefix) const;

 private:
  template <class T>
  const T* at(std::size_t offset, std::size_t count = 1) const;
  [[nodiscard]] std::size_t offset_of(std::size_t address) const;
  [[nodiscard]] std::string string_at(std::size_t index) const;
  void read_dynamic_section();
  /// Whether one of the full symbol table or the dynamic one is such a symbol; `wanted` gets it and
  /// all names of its table.
  template <class Wanted>
  [[nodiscard]] bool any_symbol(Wanted&& wanted) const;
  /// Of the dynamic table: name, and whether it is defined for others.
  void for_each_symbol(const std::function<void(const char*, bool)>& found) const;
  [[nodiscard]] std::size_t symbol_count() const;

  const unsigned char* bytes_ = nullptr;
  std::size_t size_ = 0;
  bool dynamic_ = false;
  bool position_independent_ = false;
  bool interpreted_ = false;
  std::size_t thread_bytes_ = 0;
  std::size_t strings_ = 0;
  std::size_t strings_size_ = 0;
  std::size_t symbols_ = 0;
  std::size_t hash_ = 0;
  std::size_t gnu_hash_ = 0;
  std::size_t relocations_[2] = {};  ///< DT_RELA, DT_JMPREL
  std::size_t relocation_bytes_[2] = {};
  std::vector<std::string> needed_;
  std::string run_path_;
  std::string old_run_path_;
};

}  // namespace meantime::launch
