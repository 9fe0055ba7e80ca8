// What the file's own tables say of its symbols. Reads mapped memory only, takes no lock and no
// memory: function_at is asked in a signal handler (crash.cpp).
#include "host/image/elf_template.h"

namespace meantime::host {

ElfTemplate::Function ElfTemplate::function_at(std::uint64_t address) const {
  Function best;
  const auto look = [&](const Elf64_Sym* symbols, std::size_t count, const char* strings,
                        std::size_t bytes) {
    for (std::size_t i = 1; symbols != nullptr && i < count; ++i) {
      const Elf64_Sym& symbol = symbols[i];
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
          symbol.st_value <= address && address - symbol.st_value < symbol.st_size &&
          symbol.st_name < bytes) {
        best = {strings + symbol.st_name, symbol.st_value};
      }
    }
  };
  // All functions, where the file is not stripped; else those that others may call.
  const auto* header = at<const Elf64_Ehdr>(0);
  const auto* sections = at<const Elf64_Shdr>(header->e_shoff, header->e_shnum);
  for (int i = 0; sections != nullptr && i < header->e_shnum && best.name == nullptr; ++i) {
    const Elf64_Shdr& table = sections[i];
    if ((table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM) ||
        table.sh_link >= header->e_shnum) {
      continue;
    }
    const Elf64_Shdr& strings = sections[table.sh_link];
    const auto* text = at<const char>(strings.sh_offset, strings.sh_size);
    const std::size_t count = table.sh_size / sizeof(Elf64_Sym);
    if (text != nullptr && strings.sh_size > 0 && text[strings.sh_size - 1] == '\0') {
      look(at<const Elf64_Sym>(table.sh_offset, count), count, text, strings.sh_size);
    }
  }
  return best;
}

const char* ElfTemplate::version_of(const Elf64_Sym& symbol) const {
  const auto index = static_cast<std::size_t>(&symbol - at_address<const Elf64_Sym>(symbols_));
  const auto* versions = at_address<const Elf64_Half>(versions_, symbol_count_);
  if (versions_ == 0 || versions == nullptr || defined_versions_ == 0) {
    return "";
  }
  const unsigned wanted = versions[index] & 0x7fffu;
  std::uint64_t place = defined_versions_;
  while (const auto* definition = wanted > 1 ? at_address<const Elf64_Verdef>(place) : nullptr) {
    if (definition->vd_ndx == wanted) {
      const auto* first = at_address<const Elf64_Verdaux>(place + definition->vd_aux);
      return first == nullptr ? "" : name(first->vda_name);
    }
    if (definition->vd_next == 0) {
      break;
    }
    place += definition->vd_next;
  }
  return "";
}

}  // namespace meantime::host
