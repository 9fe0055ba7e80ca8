#include "elf/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

namespace meantime::launch {

namespace {

#if defined(__x86_64__)
constexpr unsigned this_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned this_machine = EM_AARCH64;
#else
constexpr unsigned this_machine = EM_NONE;
#endif

std::string processor(int machine, unsigned char width) {
  const char* const bits = width == ELFCLASS64 ? "64-bit" : "32-bit";
  switch (machine) {
    case EM_X86_64:
      return width == ELFCLASS64 ? "x86-64" : "x86-64 with 32-bit addresses (x32)";
    case EM_386:
      return "32-bit x86";
    case EM_AARCH64:
    case EM_ARM:
      return fmt::format("{} Arm", bits);
    case EM_RISCV:
      return fmt::format("{} RISC-V", bits);
    case EM_PPC:
    case EM_PPC64:
      return fmt::format("{} POWER", bits);
    case EM_S390:
      return fmt::format("{} IBM Z", bits);
    default:
      return fmt::format("another processor (ELF machine {})", machine);
  }
}

}  // namespace

ElfFile::~ElfFile() {
  if (bytes_ != nullptr) {
    munmap(const_cast<unsigned char*>(bytes_), size_);
  }
}

ElfFile::ElfFile(ElfFile&& other) noexcept {
  *this = std::move(other);
}

ElfFile& ElfFile::operator=(ElfFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(size_, other.size_);
  dynamic_ = other.dynamic_;
  position_independent_ = other.position_independent_;
  interpreted_ = other.interpreted_;
  thread_bytes_ = other.thread_bytes_;
  strings_ = other.strings_;
  strings_size_ = other.strings_size_;
  symbols_ = other.symbols_;
  hash_ = other.hash_;
  gnu_hash_ = other.gnu_hash_;
  std::copy_n(other.relocations_, 2, relocations_);
  std::copy_n(other.relocation_bytes_, 2, relocation_bytes_);
  needed_ = std::move(other.needed_);
  run_path_ = std::move(other.run_path_);
  old_run_path_ = std::move(other.old_run_path_);
  return *this;
}

template <class T>
const T* ElfFile::at(std::size_t offset, std::size_t count) const {
  if (offset > size_ || count > (size_ - offset) / sizeof(T) || offset % alignof(T) != 0) {
    return nullptr;
  }
  return reinterpret_cast<const T*>(bytes_ + offset);
}

std::string foreign_processor(const std::string& path) {
  Elf64_Ehdr header{};  // the beginning is that of 32-bit files, too
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      (header.e_machine == this_machine && header.e_ident[EI_CLASS] == ELFCLASS64)) {
    return {};
  }
  return fmt::format("it is a program for {}, and this machine is {}",
                     processor(header.e_machine, header.e_ident[EI_CLASS]),
                     processor(this_machine, ELFCLASS64));
}

bool ElfFile::open(const std::string& path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return false;
  }
  struct stat status {};
  void* place = MAP_FAILED;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
      status.st_size >= static_cast<off_t>(sizeof(Elf64_Ehdr))) {
    size_ = static_cast<std::size_t>(status.st_size);
    place = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
  }
  close(file);
  if (place == MAP_FAILED) {
    return false;
  }
  bytes_ = static_cast<const unsigned char*>(place);
  const auto* header = at<Elf64_Ehdr>(0);
  if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != this_machine ||
      header->e_phentsize != sizeof(Elf64_Phdr)) {
    return false;
  }
  read_dynamic_section();
  return true;
}

std::size_t ElfFile::offset_of(std::size_t address) const {
  const auto* header = at<Elf64_Ehdr>(0);
  const auto* segments = at<Elf64_Phdr>(header->e_phoff, header->e_phnum);
  for (int i = 0; segments != nullptr && i < header->e_phnum; ++i) {
    const Elf64_Phdr& segment = segments[i];
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      return address - segment.p_vaddr + segment.p_offset;
    }
  }
  return size_;  // nothing can be read there
}

void ElfFile::read_dynamic_section() {
  const auto* header = at<Elf64_Ehdr>(0);
  const auto* segments = at<Elf64_Phdr>(header->e_phoff, header->e_phnum);
  const Elf64_Dyn* entries = nullptr;
  std::size_t count = 0;
  position_independent_ = header->e_type == ET_DYN;
  for (int i = 0; segments != nullptr && i < header->e_phnum; ++i) {
    if (segments[i].p_type == PT_DYNAMIC) {
      count = segments[i].p_filesz / sizeof(Elf64_Dyn);
      entries = at<Elf64_Dyn>(segments[i].p_offset, count);
    } else if (segments[i].p_type == PT_INTERP) {
      interpreted_ = true;
    } else if (segments[i].p_type == PT_TLS) {
      thread_bytes_ = segments[i].p_memsz;
    }
  }
  if (entries == nullptr) {
    return;
  }
  dynamic_ = true;
  for (std::size_t i = 0; i < count && entries[i].d_tag != DT_NULL; ++i) {
    const Elf64_Dyn& entry = entries[i];
    if (entry.d_tag == DT_STRTAB) {
      strings_ = offset_of(entry.d_un.d_ptr);
    } else if (entry.d_tag == DT_STRSZ) {
      strings_size_ = entry.d_un.d_val;
    } else if (entry.d_tag == DT_SYMTAB) {
      symbols_ = offset_of(entry.d_un.d_ptr);
    } else if (entry.d_tag == DT_HASH) {
      hash_ = offset_of(entry.d_un.d_ptr);
    } else if (entry.d_tag == DT_GNU_HASH) {
      gnu_hash_ = offset_of(entry.d_un.d_ptr);
    } else if (entry.d_tag == DT_RELA) {
      relocations_[0] = offset_of(entry.d_un.d_ptr);
    } else if (entry.d_tag == DT_RELASZ) {
      relocation_bytes_[0] = entry.d_un.d_val;
    } else if (entry.d_tag == DT_JMPREL) {
      relocations_[1] = offset_of(entry.d_un.d_ptr);
    } else if (entry.d_tag == DT_PLTRELSZ) {
      relocation_bytes_[1] = entry.d_un.d_val;
    }
  }
  strings_size_ = strings_ < size_ ? std::min(strings_size_, size_ - strings_) : 0;
  for (std::size_t i = 0; i < count && entries[i].d_tag != DT_NULL; ++i) {
    const Elf64_Dyn& entry = entries[i];
    if (entry.d_tag == DT_NEEDED) {
      needed_.push_back(string_at(entry.d_un.d_val));
    } else if (entry.d_tag == DT_RUNPATH) {
      run_path_ = string_at(entry.d_un.d_val);
    } else if (entry.d_tag == DT_RPATH) {
      old_run_path_ = string_at(entry.d_un.d_val);
    }
  }
}

std::string ElfFile::string_at(std::size_t index) const {
  if (index >= strings_size_) {
    return {};
  }
  const char* text = reinterpret_cast<const char*>(bytes_ + strings_ + index);
  return {text, strnlen(text, strings_size_ - index)};
}

// The dynamic symbol table does not say its length. DT_HASH does; with DT_GNU_HASH alone the
// imports stand before the first hashed symbol, except those whose address a program that is not
// position-independent has taken, so the section headers are asked first.
std::size_t ElfFile::symbol_count() const {
  const auto* header = at<Elf64_Ehdr>(0);
  const auto* sections = at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  for (int i = 0; sections != nullptr && header->e_shoff != 0 && i < header->e_shnum; ++i) {
    if (sections[i].sh_type == SHT_DYNSYM) {
      return sections[i].sh_size / sizeof(Elf64_Sym);
    }
  }
  if (const auto* hash = at<Elf64_Word>(hash_, 2); hash_ != 0 && hash != nullptr) {
    return hash[1];
  }
  if (const auto* hash = at<Elf64_Word>(gnu_hash_, 2); gnu_hash_ != 0 && hash != nullptr) {
    return hash[1];
  }
  return 0;
}

bool ElfFile::runs_when_loaded() const {
#if defined(__aarch64__)
  constexpr std::size_t indirect = R_AARCH64_IRELATIVE;
#else
  constexpr std::size_t indirect = R_X86_64_IRELATIVE;
#endif
  for (int table = 0; table < 2; ++table) {
    const std::size_t count = relocation_bytes_[table] / sizeof(Elf64_Rela);
    const auto* relocations = at<Elf64_Rela>(relocations_[table], count);
    for (std::size_t i = 0; relocations != nullptr && i < count; ++i) {
      if (ELF64_R_TYPE(relocations[i].r_info) == indirect) {
        return true;
      }
    }
  }
  const std::size_t count = symbol_count();
  const auto* symbols = at<Elf64_Sym>(symbols_, count);
  for (std::size_t i = 1; symbols_ != 0 && symbols != nullptr && i < count; ++i) {
    if (ELF64_ST_TYPE(symbols[i].st_info) == STT_GNU_IFUNC && symbols[i].st_shndx != SHN_UNDEF) {
      return true;
    }
  }
  return false;
}

void ElfFile::for_each_symbol(const std::function<void(const char*, bool)>& found) const {
  const std::size_t count = symbol_count();
  const auto* symbols = at<Elf64_Sym>(symbols_, count);
  for (std::size_t i = 1; symbols_ != 0 && symbols != nullptr && i < count; ++i) {
    const Elf64_Sym& symbol = symbols[i];
    const char* const name = reinterpret_cast<const char*>(bytes_ + strings_) + symbol.st_name;
    if (symbol.st_name < strings_size_ &&
        strnlen(name, strings_size_ - symbol.st_name) < strings_size_ - symbol.st_name) {
      const int visibility = ELF64_ST_VISIBILITY(symbol.st_other);
      found(name, symbol.st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL &&
                      (visibility == STV_DEFAULT || visibility == STV_PROTECTED));
    }
  }
}

template <class Wanted>
bool ElfFile::any_symbol(Wanted&& wanted) const {
  const auto* header = at<Elf64_Ehdr>(0);
  const auto* sections = at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  for (int i = 0; sections != nullptr && header->e_shoff != 0 && i < header->e_shnum; ++i) {
    const Elf64_Shdr& table = sections[i];
    if ((table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM) ||
        table.sh_link >= header->e_shnum) {
      continue;
    }
    const Elf64_Shdr& names = sections[table.sh_link];
    const std::size_t count = table.sh_size / sizeof(Elf64_Sym);
    const auto* symbols = at<Elf64_Sym>(table.sh_offset, count);
    const char* text = at<char>(names.sh_offset, names.sh_size);
    for (std::size_t k = 0; symbols != nullptr && text != nullptr && k < count; ++k) {
      if (wanted(symbols[k], std::string_view(text, names.sh_size))) {
        return true;
      }
    }
  }
  return false;
}

bool ElfFile::has_symbol(const std::string& prefix) const {
  return any_symbol([&](const Elf64_Sym& symbol, std::string_view names) {
    return symbol.st_name + prefix.size() < names.size() &&
           names.substr(symbol.st_name).starts_with(prefix);
  });
}

bool ElfFile::in_function(std::size_t address) const {
  return any_symbol([&](const Elf64_Sym& symbol, std::string_view) {
    const int type = ELF64_ST_TYPE(symbol.st_info);
    return symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC) &&
           address >= symbol.st_value && address - symbol.st_value < symbol.st_size;
  });
}

std::vector<std::string> ElfFile::imports(const std::string& prefix) const {
  std::vector<std::string> names;
  std::size_t count = symbol_count();
  const auto* symbols = at<Elf64_Sym>(symbols_, count);
  if (symbols == nullptr || symbols_ == 0) {
    return names;
  }
  for (std::size_t i = 1; i < count; ++i) {
    if (symbols[i].st_shndx != SHN_UNDEF || symbols[i].st_name >= strings_size_) {
      continue;
    }
    const char* name = reinterpret_cast<const char*>(bytes_ + strings_ + symbols[i].st_name);
    std::size_t room = strings_size_ - symbols[i].st_name;
    if (room > prefix.size() && std::memcmp(name, prefix.data(), prefix.size()) == 0) {
      names.push_back(string_at(symbols[i].st_name));
    }
  }
  return names;
}

}  // namespace meantime::launch
