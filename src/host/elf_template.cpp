#include "host/elf_template.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "host/host_main.h"

namespace meantime::host {
namespace {

constexpr std::uint64_t page = 4096;

std::uint64_t down(std::uint64_t value) {
  return value & ~(page - 1);
}
std::uint64_t up(std::uint64_t value) {
  return down(value + page - 1);
}

/// A tag that the run-time linker skips.
constexpr Elf64_Sxword hidden_tag = DT_DEBUG;

/// What a profiling library may define, too (MPI 5.0, 15.2).
bool is_mpi_call(const char* name) {
  return std::strncmp(name, "MPI_", 4) == 0 || std::strncmp(name, "MPIX_", 5) == 0;
}

}  // namespace

const std::vector<std::string>& private_data() {
  static const std::vector<std::string> names = {"stdin",     "stdout",  "stderr", "optarg",
                                                 "optind",    "opterr",  "optopt", "environ",
                                                 "__environ", "_environ"};
  return names;
}

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

std::string ElfTemplate::open(const std::string& path, bool is_executable,
                              bool (*is_private)(const std::string&)) {
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
  if (std::string why = read_segments(is_executable); !why.empty()) {
    return why;
  }
  if (std::string why = read_dynamic(is_private); !why.empty()) {
    return why;
  }
  take_over_functions();
  make_symbols_common();
  find_data_references();
  if (!private_libraries_.empty()) {
    if (std::string why = make_room_for_names(); !why.empty()) {
      return why;
    }
    rename_libraries(is_private);
  }
  plan_copy();
  return {};
}

std::string ElfTemplate::read_segments(bool is_executable) {
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
    } else if (segment.p_type == PT_TLS) {
      thread_data_ = &segment;
      if (is_executable && segment.p_memsz + segment.p_align > MEANTIME_PROGRAM_TLS) {
        return fmt::format("'{}' has {} bytes of thread-local variables, {} are the most", path_,
                           segment.p_memsz, MEANTIME_PROGRAM_TLS);
      }
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
      if (std::string library = name(dynamic_[i].d_un.d_val); is_private(library)) {
        private_libraries_.push_back(std::move(library));
      }
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

void ElfTemplate::find_data_references() {
  std::uint64_t tables[2] = {};
  std::uint64_t sizes[2] = {};
  for (std::size_t i = 0; i < dynamic_count_ && dynamic_[i].d_tag != DT_NULL; ++i) {
    const Elf64_Dyn& entry = dynamic_[i];
    if (entry.d_tag == DT_RELA || entry.d_tag == DT_JMPREL) {
      tables[entry.d_tag == DT_JMPREL] = entry.d_un.d_ptr;
    } else if (entry.d_tag == DT_RELASZ || entry.d_tag == DT_PLTRELSZ) {
      sizes[entry.d_tag == DT_PLTRELSZ] = entry.d_un.d_val;
    }
  }
  const auto* symbols = at_address<const Elf64_Sym>(symbols_, symbol_count_);
  const std::vector<std::string>& names = private_data();
  for (int table = 0; table < 2; ++table) {
    const std::size_t count = sizes[table] / sizeof(Elf64_Rela);
    const auto* entries = at_address<const Elf64_Rela>(tables[table], count);
    for (std::size_t i = 0; entries != nullptr && symbols != nullptr && i < count; ++i) {
      const auto type = ELF64_R_TYPE(entries[i].r_info);
      text_is_run_early_ = text_is_run_early_ || type == R_X86_64_IRELATIVE;
      const std::size_t symbol = ELF64_R_SYM(entries[i].r_info);
      if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64) &&
          symbol < symbol_count_ && is_mpi_call(name(symbols[symbol].st_name))) {
        call_references_.push_back(
            {entries[i].r_offset, name(symbols[symbol].st_name), entries[i].r_addend});
      }
      if ((type != R_X86_64_COPY && type != R_X86_64_GLOB_DAT && type != R_X86_64_64) ||
          symbol == 0 || symbol >= symbol_count_) {
        continue;
      }
      if (type == R_X86_64_COPY) {
        copied_data_.push_back(
            {entries[i].r_offset, symbols[symbol].st_size, name(symbols[symbol].st_name)});
      }
      const auto found = std::find(names.begin(), names.end(), name(symbols[symbol].st_name));
      if (found != names.end()) {
        data_references_.push_back({entries[i].r_offset, static_cast<int>(found - names.begin()),
                                    entries[i].r_addend, type == R_X86_64_COPY});
      }
    }
  }
}

// The names of private libraries are longer than those in the file and different in each copy. They
// get a segment of their own behind the others; its entry in the table takes the place of one of
// the notes, which nobody reads when a library is loaded.
std::string ElfTemplate::make_room_for_names() {
  int note = -1;
  int last_load = -1;
  std::uint64_t end = 0;
  for (int i = 0; i < segment_count_; ++i) {
    const Elf64_Phdr& segment = segments_[i];
    if (segment.p_type == PT_LOAD) {
      last_load = i;
      end = std::max(end, segment.p_vaddr + segment.p_memsz);
    }
    if (segment.p_type == PT_NOTE || segment.p_type == PT_GNU_PROPERTY ||
        segment.p_type == PT_NULL) {
      note = i;
    }
  }
  if (note < 0) {
    return fmt::format("'{}' has no room for other names of its libraries", path_);
  }
  names_address_ = up(end);
  names_offset_ = up(size_);
  Elf64_Phdr load{};
  load.p_type = PT_LOAD;
  load.p_flags = PF_R;
  load.p_offset = names_offset_;
  load.p_vaddr = load.p_paddr = names_address_;
  load.p_filesz = load.p_memsz = private_libraries_.size() * longest_name;
  load.p_align = page;
  // Loaded segments stand in the table in the order of their addresses.
  if (note < last_load) {
    std::move(segments_ + note + 1, segments_ + last_load + 1, segments_ + note);
    segments_[last_load] = load;
  } else {
    std::move_backward(segments_ + last_load + 1, segments_ + note, segments_ + note + 1);
    segments_[last_load + 1] = load;
  }
  for (int i = 0; i < segment_count_; ++i) {
    thread_data_ = segments_[i].p_type == PT_TLS ? &segments_[i] : thread_data_;
  }
  return {};
}

void ElfTemplate::rename_libraries(bool (*is_private)(const std::string&)) {
  const auto new_index = [&](const std::string& library) {
    const auto found = std::find(private_libraries_.begin(), private_libraries_.end(), library);
    return names_address_ +
           static_cast<std::uint64_t>(found - private_libraries_.begin()) * longest_name - strings_;
  };
  std::uint64_t versions = 0;
  std::uint64_t version_count = 0;
  for (std::size_t i = 0; i < dynamic_count_ && dynamic_[i].d_tag != DT_NULL; ++i) {
    Elf64_Dyn& entry = dynamic_[i];
    if (entry.d_tag == DT_NEEDED) {
      if (const std::string library = name(entry.d_un.d_val); is_private(library)) {
        entry.d_un.d_val = new_index(library);
      }
    } else if (entry.d_tag == DT_VERNEED) {
      versions = entry.d_un.d_ptr;
    } else if (entry.d_tag == DT_VERNEEDNUM) {
      version_count = entry.d_un.d_val;
    }
  }
  for (std::uint64_t i = 0; i < version_count; ++i) {
    auto* needed = at_address<Elf64_Verneed>(versions);
    if (needed == nullptr) {
      break;
    }
    if (const std::string library = name(needed->vn_file); is_private(library)) {
      needed->vn_file = static_cast<Elf64_Word>(new_index(library));
    }
    versions += needed->vn_next;
  }
}

/// Written: whatever is changed in a copy or written to by the rank. The rest is mapped from the
/// original, unless indirect functions run it before that can be done.
void ElfTemplate::plan_copy() {
  bool first = true;
  for (int i = 0; i < segment_count_; ++i) {
    const Elf64_Phdr& segment = segments_[i];
    if (segment.p_type != PT_LOAD || segment.p_offset >= size_) {
      continue;
    }
    const std::uint64_t begin = down(segment.p_offset);
    const std::uint64_t end =
        std::min<std::uint64_t>(up(segment.p_offset + segment.p_filesz), size_);
    const bool text = (segment.p_flags & PF_W) == 0 && !first;
    // Tables that a copy has others of stand in the first segment, or, with some linkers, in
    // another one that cannot be run.
    const bool has_tables =
        symbols_ >= segment.p_vaddr && symbols_ < segment.p_vaddr + segment.p_memsz;
    first = false;
    if (!text || has_tables || text_is_run_early_) {
      written_.push_back({begin, end - begin});
    } else {
      const int protection = PROT_READ | ((segment.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
      shared_pieces_.push_back({down(segment.p_vaddr), begin, up(end - begin), protection});
    }
  }
}

bool ElfTemplate::write_copy(int descriptor, const std::vector<std::string>& names) const {
  const std::uint64_t end = names.empty() ? size_ : names_offset_ + names.size() * longest_name;
  if (ftruncate(descriptor, static_cast<off_t>(end)) != 0) {
    return false;
  }
  for (const Range& range : written_) {
    if (pwrite(descriptor, bytes_ + range.offset, range.bytes, static_cast<off_t>(range.offset)) !=
        static_cast<ssize_t>(range.bytes)) {
      return false;
    }
  }
  std::string table;
  for (const std::string& name : names) {
    table += name;
    table.resize((table.size() / longest_name + 1) * longest_name);
  }
  return pwrite(descriptor, table.data(), table.size(), static_cast<off_t>(names_offset_)) ==
         static_cast<ssize_t>(table.size());
}

}  // namespace meantime::host
