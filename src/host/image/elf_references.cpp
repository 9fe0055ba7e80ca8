// What in a copy refers to something that is each rank's own: data of libc, thread-local variables,
// functions that ask who calls them.
#include <string_view>

#include "host/image/elf_template.h"

namespace meantime::host {

Elf64_Rela* ElfTemplate::relocation(std::size_t index) const {
  for (const RelocationTable& table : relocations_) {
    if (index < table.count) {
      Elf64_Rela* const all = at_address<Elf64_Rela>(table.address, table.count);
      return all == nullptr ? nullptr : all + index;
    }
    index -= table.count;
  }
  return nullptr;
}

void ElfTemplate::find_references() {
  const auto* symbols = at_address<const Elf64_Sym>(symbols_, symbol_count_);
  const std::size_t count = relocations_[0].count + relocations_[1].count;
  for (std::size_t i = 0; symbols != nullptr && i < count; ++i) {
    const Elf64_Rela* const entry = relocation(i);
    if (entry == nullptr) {
      continue;
    }
    const std::size_t symbol = ELF64_R_SYM(entry->r_info);
    if (symbol >= symbol_count_) {
      continue;
    }
    const char* const to = symbol == 0 ? "" : name(symbols[symbol].st_name);
    switch (ELF64_R_TYPE(entry->r_info)) {
      case R_X86_64_IRELATIVE:
        text_is_run_early_ = true;
        break;
      case R_X86_64_DTPMOD64:
      case R_X86_64_DTPOFF64:
      case R_X86_64_TPOFF64:
      case R_X86_64_TLSDESC:
        note_thread_reference(i, symbols);
        break;
      case R_X86_64_COPY:
        copied_data_.push_back({entry->r_offset, symbols[symbol].st_size, to});
        [[fallthrough]];
      case R_X86_64_GLOB_DAT:
      case R_X86_64_64:
      case R_X86_64_JUMP_SLOT:
        if (const Datum datum = datum_named(to); datum != Datum::count) {
          data_references_.push_back({entry->r_offset, datum, to, entry->r_addend,
                                      ELF64_R_TYPE(entry->r_info) == R_X86_64_COPY});
        } else {
          note_lookup(entry->r_offset, to);
        }
        break;
      default:
        break;
    }
  }
}

void ElfTemplate::note_lookup(std::uint64_t address, std::string_view name) {
  using Function = LookupReference::Function;
  if (name == "dlsym") {
    lookup_references_.push_back({address, Function::dlsym});
  } else if (name == "dlvsym") {
    lookup_references_.push_back({address, Function::dlvsym});
  } else if (name == "syscall") {
    lookup_references_.push_back({address, Function::syscall});
  }
}

void ElfTemplate::note_thread_reference(std::size_t index, const Elf64_Sym* symbols) {
  const Elf64_Rela& entry = *relocation(index);
  const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(entry.r_info));
  ThreadReference reference{index, entry.r_offset, type, entry.r_addend, {}};
  if (const std::size_t symbol = ELF64_R_SYM(entry.r_info); symbol != 0) {
    const Elf64_Sym& to = symbols[symbol];
    const bool only_here =
        ELF64_ST_BIND(to.st_info) == STB_LOCAL || ELF64_ST_VISIBILITY(to.st_other) != STV_DEFAULT;
    if (only_here && to.st_shndx != SHN_UNDEF) {
      reference.value = to.st_value;
    } else {
      reference.name = name(to.st_name);
    }
  }
  thread_references_.push_back(std::move(reference));
}

void ElfTemplate::take_over(const ThreadReference& reference) {
  Elf64_Rela& entry = *relocation(reference.relocation);
  entry.r_info = ELF64_R_INFO(0, R_X86_64_NONE);
}

}  // namespace meantime::host
