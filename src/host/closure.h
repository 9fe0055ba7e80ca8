// A program and the libraries that each rank gets a copy of: all that it needs, but the C library
// and its relatives, and MPI (launch/private_libraries.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/elf_template.h"

namespace meantime::host {

struct Member {
  ElfTemplate file;
  /// Indices in Closure::members, as ElfTemplate::private_libraries().
  std::vector<int> needs;
};

struct Closure {
  /// The program first; a library comes before those that it needs.
  std::vector<std::unique_ptr<Member>> members;
  /// The order in which constructors run: what is needed before who needs it.
  std::vector<int> order;
  /// Where the data of ElfTemplate::copied_data() of the program come from, in that order.
  struct Source {
    int member = -1;  ///< -1: a shared library
    std::uint64_t address = 0;
  };
  std::vector<Source> copy_sources;
  /// Calls of MPI that one of the members wraps: where somebody keeps the address, and the wrapper.
  struct Wrapped {
    int member;
    std::uint64_t address;
    Source wrapper;
    std::int64_t addend;
  };
  std::vector<Wrapped> wrapped_calls;
};

/// Opens everything. Empty, or one line why it cannot be done.
std::string open_closure(const std::string& program, Closure& closure);

}  // namespace meantime::host
