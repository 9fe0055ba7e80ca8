// Other names for the libraries that a copy needs: where there is room for them, and who refers to
// them.
#include <fmt/format.h>

#include <algorithm>

#include "host/image/elf_template.h"

namespace meantime::host {

using namespace elf;

/// The names of private libraries are longer than those in the file and different in each copy.
/// Most files end their first segment, which has the other names, somewhere in a page: the rest of
/// it is mapped with it, and nobody else's.
bool ElfTemplate::make_room_in_padding() {
  const Elf64_Phdr* holder = nullptr;
  for (int i = 0; i < segment_count_ && holder == nullptr; ++i) {
    const Elf64_Phdr& segment = segments_[i];
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) == 0 && strings_ >= segment.p_vaddr &&
        strings_ < segment.p_vaddr + segment.p_filesz) {
      holder = &segment;
    }
  }
  if (holder == nullptr || holder->p_memsz != holder->p_filesz) {
    return false;
  }
  const std::uint64_t end = holder->p_offset + holder->p_filesz;
  const std::uint64_t needed = private_libraries_.size() * longest_name;
  if (end + needed > up(end)) {
    return false;
  }
  for (int i = 0; i < segment_count_; ++i) {
    const Elf64_Phdr& other = segments_[i];
    if (other.p_type == PT_LOAD && &other != holder && down(other.p_offset) < up(end) &&
        up(other.p_offset + other.p_filesz) > down(end)) {
      return false;  // it has that page of the file, too
    }
  }
  names_offset_ = end;
  names_address_ = holder->p_vaddr + holder->p_filesz;
  return true;
}

// Else they get a segment of their own behind the others; its entry in the table takes the place of
// one of the notes, which nobody reads when a library is loaded.
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
      } else {
        entry.d_tag = hidden_tag;
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

}  // namespace meantime::host
