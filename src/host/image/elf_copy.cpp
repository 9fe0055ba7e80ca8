// What of a file is written to a copy, and where the rest comes from.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "host/image/elf_template.h"

namespace meantime::host {

using namespace elf;

namespace {

constexpr Elf64_Sxword packed_relocations = 36;  // DT_RELR, since glibc 2.36

bool is_table(Elf64_Sxword tag) {
  constexpr Elf64_Sxword tags[] = {DT_HASH,    DT_GNU_HASH,       DT_STRTAB, DT_SYMTAB,
                                   DT_RELA,    DT_JMPREL,         DT_VERSYM, DT_VERDEF,
                                   DT_VERNEED, packed_relocations};
  return std::ranges::find(tags, tag) != std::end(tags);
}

}  // namespace

/// Written: whatever is changed in a copy, written to by the rank or the linker, or run before the
/// rest can be mapped from the original.
void ElfTemplate::plan_copy() {
  std::vector<std::uint64_t> tables;
  bool packed = false;
  for (std::size_t i = 0; i < dynamic_count_ && dynamic_[i].d_tag != DT_NULL; ++i) {
    packed = packed || dynamic_[i].d_tag == packed_relocations;
    if (is_table(dynamic_[i].d_tag)) {
      tables.push_back(dynamic_[i].d_un.d_ptr);
    }
  }
  bool first = true;
  for (int i = 0; i < segment_count_; ++i) {
    const Elf64_Phdr& segment = segments_[i];
    if (segment.p_type != PT_LOAD || segment.p_filesz == 0 || segment.p_offset >= size_) {
      continue;
    }
    const bool has_tables = std::ranges::any_of(tables, [&](std::uint64_t table) {
      return table >= segment.p_vaddr && table < segment.p_vaddr + segment.p_memsz;
    });
    const SharedPiece whole{down(segment.p_vaddr), down(segment.p_offset),
                            up(segment.p_vaddr + segment.p_filesz) - down(segment.p_vaddr),
                            PROT_READ | ((segment.p_flags & PF_X) != 0 ? PROT_EXEC : 0)};
    if ((segment.p_flags & PF_W) != 0) {
      plan_variables(whole, has_tables || packed || text_is_run_early_);
    } else {
      if (first || has_tables || text_is_run_early_) {
        write(whole.offset, whole.bytes);
      }
      share(whole);
    }
    first = false;
  }
}

void ElfTemplate::write(std::uint64_t offset, std::size_t bytes) {
  written_.push_back({offset, std::min<std::uint64_t>(offset + bytes, size_) - offset});
}

/// Neighbours in the file and in memory become one mapping, because the kernel limits their number:
/// constants can then be executed like text, as in all programs until 2018 (ld -z separate-code).
void ElfTemplate::share(const SharedPiece& piece) {
  if (!shared_pieces_.empty()) {
    SharedPiece& last = shared_pieces_.back();
    if (last.address + last.bytes == piece.address && last.offset + last.bytes == piece.offset &&
        ((last.protection | piece.protection) & PROT_WRITE) == 0) {
      last.bytes += piece.bytes;
      last.protection |= piece.protection;
      return;
    }
  }
  shared_pieces_.push_back(piece);
}

/// Large tables that the linker has nothing to do with (no addresses in them) need not be copied
/// for each rank: they come from the original, page by page when somebody writes to them.
void ElfTemplate::plan_variables(const SharedPiece& whole, bool all) {
  constexpr std::size_t worth_a_map = 64;
  const std::size_t pages = whole.bytes / page;
  std::vector<char> needed(pages, all ? 1 : 0);
  const auto need = [&](std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t end = address + bytes;
    for (std::uint64_t at = down(std::max(address, whole.address));
         at < std::min(end, whole.address + whole.bytes); at += page) {
      needed[(at - whole.address) / page] = 1;
    }
  };
  // The linker sets to zero what follows the file's part in the last page.
  need(whole.address + whole.bytes - page, page);
  for (int i = 0; i < segment_count_; ++i) {
    if (segments_[i].p_type == PT_DYNAMIC) {
      need(segments_[i].p_vaddr, segments_[i].p_memsz);
    }
  }
  for (std::size_t i = 0; i < relocations_[0].count + relocations_[1].count; ++i) {
    if (const Elf64_Rela* const entry = relocation(i); entry != nullptr) {
      need(entry->r_offset, 2 * sizeof(std::uint64_t));
    }
  }
  const auto end_of_run = [&](std::size_t begin) {
    std::size_t end = begin + 1;
    while (end < pages && needed[end] == needed[begin]) {
      ++end;
    }
    return end;
  };
  for (std::size_t begin = 0; begin < pages; begin = end_of_run(begin)) {
    if (const std::size_t end = end_of_run(begin); end - begin < worth_a_map) {
      std::fill(needed.begin() + static_cast<std::ptrdiff_t>(begin),
                needed.begin() + static_cast<std::ptrdiff_t>(end), 1);
    }
  }
  for (std::size_t begin = 0; begin < pages; begin = end_of_run(begin)) {
    const SharedPiece piece{whole.address + begin * page, whole.offset + begin * page,
                            (end_of_run(begin) - begin) * page, PROT_READ | PROT_WRITE};
    if (needed[begin] == 0) {
      shared_pieces_.push_back(piece);
    } else {
      write(piece.offset, piece.bytes);
      own_pieces_.push_back({piece.address, piece.bytes});
    }
  }
}

bool ElfTemplate::write_copy(int descriptor, const std::vector<std::string>& names) const {
  const std::uint64_t end =
      names.empty() ? size_
                    : std::max<std::uint64_t>(size_, names_offset_ + names.size() * longest_name);
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
