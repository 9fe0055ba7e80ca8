// A program and the libraries that each rank gets a copy of: all that it needs, but the C library
// and its relatives, and MPI (protocol/private_libraries.h). Whatever is the same for
// all ranks is found out here, once: who defines what, where thread-local variables lie.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/image/elf_template.h"

namespace meantime::host {

struct Member {
  ElfTemplate file;
  /// Indices in Closure::members, as ElfTemplate::private_libraries().
  std::vector<int> needs;
};

/// Where the host's executable has its block of thread-local memory, which is for the programs.
struct ThreadRoom {
  std::uint64_t module = 0;    ///< its number to __tls_get_addr
  std::uint64_t distance = 0;  ///< from its first byte up to the thread pointer
};

class Closure {
 public:
  /// Opens everything and loads the shared libraries. Empty, or one line why it cannot be done.
  std::string open(const std::string& program);

  /// The program first; as the run-time linker would search them.
  std::vector<std::unique_ptr<Member>> members;
  /// The order in which constructors run: what is needed before who needs it.
  std::vector<int> order;
  bool wants_executable_stack = false;

  /// Where the data of ElfTemplate::copied_data() of the program come from, in that order.
  struct Source {
    int member = -1;  ///< -1: a shared library
    std::uint64_t address = 0;
  };
  std::vector<Source> copy_sources;

  /// References to data of libc that no member defines itself.
  struct DataWord {
    int member;
    const DataReference* reference;
  };
  std::vector<DataWord> data_words;

  // Thread-local variables (closure_threads.cpp). All ranks' copies have theirs in the same places
  // below the thread pointer, because each rank has a control block of its own.
  struct ThreadPart {
    int member;
    std::uint64_t distance;  ///< from its first byte up to the thread pointer
  };
  std::vector<ThreadPart> thread_parts;
  std::size_t thread_bytes = 0;
  std::size_t thread_alignment = 1;
  /// A word of a copy that the run-time linker would have filled in.
  struct ThreadWord {
    enum class Kind { module, offset, added_offset, distance, descriptor } kind;
    int member;
    std::uint64_t address;
    std::int64_t value;  ///< from the thread pointer
  };
  std::vector<ThreadWord> thread_words;

  /// The first definition of a name, from that member on; without a version: the one for new
  /// programs. nullptr if there is none. Any thread may ask.
  struct Definition {
    int member;
    const Elf64_Sym* symbol;
  };
  Definition find(const char* name, int from, const char* version) const;
  std::uint64_t thread_distance(int member) const;

 private:
  std::string open_members(const std::string& program);
  std::string load_shared_libraries(const std::vector<std::string>& paths);
  std::string find_copy_sources();
  void find_data_words();
  std::string place_thread_blocks();
  void find_thread_words();

  std::vector<std::string> shared_paths_;

  /// All definitions of the members, made when somebody first asks.
  struct Entry {
    int member;
    const Elf64_Sym* symbol;
    bool old;
  };
  mutable std::once_flag index_made_;
  mutable std::unordered_multimap<std::string_view, Entry> index_;
};

}  // namespace meantime::host
