// Thread-local variables of a program and its private libraries.
//
// The run-time linker would give each copy a block of its own in every thread: a thousand ranks'
// copies of a library that is linked for speed (initial-exec, as libstdc++ and libgomp are) do not
// fit into what it has for that, and every rank would pay for the blocks of all others. But a
// rank's code only runs with the rank's own control block, or with that of a thread of the rank. So
// all copies may have their variables in the same place below the thread pointer: the block of the
// host's executable (main.c). The program's own lie uppermost, as it was linked; the libraries'
// follow, and the words that tell where they are are filled in here instead of by the linker.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "host/image/closure.h"

namespace meantime::host {

std::string Closure::place_thread_blocks() {
  std::uint64_t used = 0;
  for (std::size_t member = 0; member < members.size(); ++member) {
    const ThreadBlock& block = members[member]->file.thread_block();
    if (block.bytes == 0) {
      continue;
    }
    if ((block.alignment & (block.alignment - 1)) != 0) {
      return fmt::format("'{}' is damaged: alignment {}", members[member]->file.path(),
                         block.alignment);
    }
    const std::uint64_t mask = block.alignment - 1;
    // The program's is where it was linked to be; a library's lies in memory as in the file.
    const std::uint64_t first = member == 0 ? 0 : block.address & mask;
    used = ((used + block.bytes + first + mask) & ~mask) - first;
    thread_parts.push_back({static_cast<int>(member), used});
    thread_alignment = std::max(thread_alignment, block.alignment);
  }
  thread_bytes = used;
  return {};
}

std::uint64_t Closure::thread_distance(int member) const {
  const auto found = std::ranges::find(thread_parts, member, &ThreadPart::member);
  return found == thread_parts.end() ? 0 : found->distance;
}

void Closure::find_thread_words() {
  for (std::size_t member = 0; member < members.size(); ++member) {
    ElfTemplate& file = members[member]->file;
    std::set<std::uint64_t> offsets;
    for (const ThreadReference& reference : file.thread_references()) {
      if (reference.type == R_X86_64_DTPOFF64) {
        offsets.insert(reference.address);
      }
    }
    for (const ThreadReference& reference : file.thread_references()) {
      Definition definition{static_cast<int>(member), nullptr};
      std::uint64_t value = reference.value;
      if (!reference.name.empty()) {
        definition = find(reference.name.c_str(), 0, nullptr);
        if (definition.symbol == nullptr) {
          continue;  // a shared library's, or nobody's: the linker knows
        }
        value = definition.symbol->st_value;
      }
      file.take_over(reference);
      const std::int64_t place = static_cast<std::int64_t>(value) + reference.addend -
                                 static_cast<std::int64_t>(thread_distance(definition.member));
      const auto add = [&](ThreadWord::Kind kind, std::uint64_t address, std::int64_t what) {
        thread_words.push_back({kind, static_cast<int>(member), address, what});
      };
      switch (reference.type) {
        case R_X86_64_DTPMOD64:
          add(ThreadWord::Kind::module, reference.address, 0);
          if (reference.name.empty() && offsets.count(reference.address + 8) == 0) {
            // Of a variable that only this file knows: its offset in the file's block is there.
            add(ThreadWord::Kind::added_offset, reference.address + 8,
                -static_cast<std::int64_t>(thread_distance(definition.member)));
          }
          break;
        case R_X86_64_DTPOFF64:
          add(ThreadWord::Kind::offset, reference.address, place);
          break;
        case R_X86_64_TPOFF64:
          add(ThreadWord::Kind::distance, reference.address, place);
          break;
        default:
          add(ThreadWord::Kind::descriptor, reference.address, place);
          break;
      }
    }
  }
}

}  // namespace meantime::host
