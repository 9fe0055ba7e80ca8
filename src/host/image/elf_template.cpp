#include "host/image/elf_template.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace meantime::host {

using namespace elf;

namespace {

bool has_no_executable_stacks() {
  return strverscmp(gnu_get_libc_version(), "2.41") >= 0;
}

}  // namespace

ElfTemplate::~ElfTemplate() {
  if (bytes_ != nullptr) {
    munmap(bytes_, size_);
  }
  if (original_ >= 0) {
    close(original_);
  }
}

const char* ElfTemplate::name(std::uint64_t index) const {
  const char* text = at_address<const char>(strings_ + index);
  return text == nullptr ? "" : text;
}

std::uint64_t ElfTemplate::entry() const {
  return at<Elf64_Ehdr>(0)->e_entry;
}

std::string ElfTemplate::open(const std::string& path, bool (*is_private)(const std::string&)) {
  errno = 0;
  char* const absolute = realpath(path.c_str(), nullptr);
  path_ = absolute != nullptr ? absolute : path;
  std::free(absolute);
  original_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (original_ < 0 || fstat(original_, &status) != 0) {
    return fmt::format("'{}' cannot be read: {}", path, std::strerror(errno));
  }
  size_ = static_cast<std::size_t>(status.st_size);
  void* place = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, original_, 0);
  if (place == MAP_FAILED) {
    return fmt::format("'{}' cannot be read: {}", path, std::strerror(errno));
  }
  bytes_ = static_cast<unsigned char*>(place);
  if (std::string why = read_segments(); !why.empty()) {
    return why;
  }
  if (std::string why = read_dynamic(is_private); !why.empty()) {
    return why;
  }
  take_over_functions();
  make_symbols_common();
  find_references();
  if (!private_libraries_.empty() && !make_room_in_padding()) {
    if (std::string why = make_room_for_names(); !why.empty()) {
      return why;
    }
  }
  rename_libraries(is_private);
  plan_copy();
  return {};
}

std::string ElfTemplate::read_segments() {
  const auto* header = at<Elf64_Ehdr>(0);
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64) {
    return fmt::format("'{}' is no program for this processor", path_);
  }
  segments_ = at<Elf64_Phdr>(header->e_phoff, header->e_phnum);
  segment_count_ = header->e_phnum;
  if (header->e_type != ET_DYN || segments_ == nullptr) {
    return fmt::format("'{}' is linked for one address (not position-independent)", path_);
  }
  for (int i = 0; i < segment_count_; ++i) {
    Elf64_Phdr& segment = segments_[i];
    if (segment.p_type == PT_DYNAMIC) {
      dynamic_count_ = segment.p_filesz / sizeof(Elf64_Dyn);
      dynamic_ = at<Elf64_Dyn>(segment.p_offset, dynamic_count_);
    } else if (segment.p_type == PT_GNU_RELRO) {
      segment.p_type = PT_NULL;
    } else if (segment.p_type == PT_GNU_STACK) {
      // We do it ourselves (host_main.cpp): glibc refuses it for what is loaded later since 2.41,
      // and before did it for threads to come only.
      wants_executable_stack_ = (segment.p_flags & PF_X) != 0;
      if (has_no_executable_stacks()) {
        segment.p_flags &= ~static_cast<Elf64_Word>(PF_X);
      }
    } else if (segment.p_type == PT_TLS) {
      thread_block_ = {segment.p_vaddr, segment.p_filesz, segment.p_memsz,
                       std::max<std::size_t>(segment.p_align, 1)};
      segment.p_type = PT_NULL;
    }
  }
  if (dynamic_ == nullptr) {
    return fmt::format("'{}' is linked statically", path_);
  }
  return {};
}

std::string ElfTemplate::read_dynamic(bool (*is_private)(const std::string&)) {
  std::uint64_t hash = 0;
  std::uint64_t gnu_hash = 0;
  for (std::size_t i = 0; i < dynamic_count_ && dynamic_[i].d_tag != DT_NULL; ++i) {
    Elf64_Dyn& entry = dynamic_[i];
    switch (entry.d_tag) {
      case DT_STRTAB:
        strings_ = entry.d_un.d_ptr;
        break;
      case DT_SYMTAB:
        symbols_ = entry.d_un.d_ptr;
        break;
      case DT_VERSYM:
        versions_ = entry.d_un.d_ptr;
        break;
      case DT_VERDEF:
        defined_versions_ = entry.d_un.d_ptr;
        break;
      case DT_RELA:
        relocations_[0].address = entry.d_un.d_ptr;
        break;
      case DT_RELASZ:
        relocations_[0].count = entry.d_un.d_val / sizeof(Elf64_Rela);
        break;
      case DT_JMPREL:
        relocations_[1].address = entry.d_un.d_ptr;
        break;
      case DT_PLTRELSZ:
        relocations_[1].count = entry.d_un.d_val / sizeof(Elf64_Rela);
        break;
      case DT_HASH:
        hash = entry.d_un.d_ptr;
        break;
      case DT_GNU_HASH:
        gnu_hash = entry.d_un.d_ptr;
        break;
      case DT_FLAGS_1:
        entry.d_un.d_val &= ~static_cast<Elf64_Xword>(DF_1_PIE | DF_1_NODELETE);
        break;
      case DT_TEXTREL:
        return fmt::format("'{}' has relocations in its text", path_);
      default:
        break;
    }
  }
  for (std::size_t i = 0; i < dynamic_count_ && dynamic_[i].d_tag != DT_NULL; ++i) {
    if (dynamic_[i].d_tag == DT_NEEDED) {
      std::string library = name(dynamic_[i].d_un.d_val);
      (is_private(library) ? private_libraries_ : shared_libraries_).push_back(std::move(library));
    }
  }
  if (const auto* words = at_address<Elf64_Word>(hash, 2); hash != 0 && words != nullptr) {
    symbol_count_ = words[1];
  } else if (const auto* head = at_address<Elf64_Word>(gnu_hash, 4);
             gnu_hash != 0 && head != nullptr) {
    // The last symbol is the end of the chain that begins last.
    const Elf64_Word buckets = head[0];
    const Elf64_Word first_hashed = head[1];
    const std::uint64_t table = gnu_hash + 16 + std::uint64_t{8} * head[2];
    const auto* bucket = at_address<Elf64_Word>(table, buckets);
    Elf64_Word last = 0;
    for (Elf64_Word i = 0; bucket != nullptr && i < buckets; ++i) {
      last = std::max(last, bucket[i]);
    }
    symbol_count_ = first_hashed;
    if (last >= first_hashed) {
      const std::uint64_t chains = table + std::uint64_t{4} * buckets;
      for (;; ++last) {
        const auto* chain =
            at_address<Elf64_Word>(chains + std::uint64_t{4} * (last - first_hashed));
        if (chain == nullptr || (*chain & 1) != 0) {
          break;
        }
      }
      symbol_count_ = last + 1;
    }
  }
  return {};
}

/// The run-time linker would run them on the stack of whoever loads the copy.
void ElfTemplate::take_over_functions() {
  const auto hide = [](Elf64_Dyn& entry) { entry.d_tag = hidden_tag; };
  for (std::size_t i = 0; i < dynamic_count_ && dynamic_[i].d_tag != DT_NULL; ++i) {
    Elf64_Dyn& entry = dynamic_[i];
    const std::uint64_t value = entry.d_un.d_val;
    switch (entry.d_tag) {
      case DT_INIT:
        initialisers_.first = value;
        break;
      case DT_INIT_ARRAY:
        initialisers_.array = value;
        break;
      case DT_INIT_ARRAYSZ:
        initialisers_.count = value / sizeof(void*);
        break;
      case DT_FINI:
        finalisers_.first = value;
        break;
      case DT_FINI_ARRAY:
        finalisers_.array = value;
        break;
      case DT_FINI_ARRAYSZ:
        finalisers_.count = value / sizeof(void*);
        break;
      case DT_PREINIT_ARRAY:
        preinitialisers_.array = value;
        break;
      case DT_PREINIT_ARRAYSZ:
        preinitialisers_.count = value / sizeof(void*);
        break;
      default:
        continue;
    }
    hide(entry);
  }
}

/// Symbols that C++ wants once in a process (statics of inline functions and templates) would be
/// one rank's for all of them.
void ElfTemplate::make_symbols_common() {
  auto* symbols = at_address<Elf64_Sym>(symbols_, symbol_count_);
  for (std::size_t i = 1; symbols != nullptr && i < symbol_count_; ++i) {
    if (ELF64_ST_BIND(symbols[i].st_info) == STB_GNU_UNIQUE) {
      symbols[i].st_info = ELF64_ST_INFO(STB_GLOBAL, ELF64_ST_TYPE(symbols[i].st_info));
    }
    text_is_run_early_ =
        text_is_run_early_ ||
        (ELF64_ST_TYPE(symbols[i].st_info) == STT_GNU_IFUNC && symbols[i].st_shndx != SHN_UNDEF);
  }
}

}  // namespace meantime::host
