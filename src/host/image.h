// One rank's image: private copies of the program and its libraries, loaded by the run-time linker
// as so many libraries of other names.
#pragma once

#include <link.h>

#include <cstdio>
#include <string>
#include <vector>

#include "host/closure.h"

namespace meantime::host {

/// What libc has once and every rank has of its own; private_data() names them in this order.
struct PrivateData {
  std::FILE* standard_input = nullptr;
  std::FILE* standard_output = nullptr;
  std::FILE* standard_error = nullptr;
  char* option_argument = nullptr;
  int option_index = 1;
  int option_errors = 1;
  int option_unknown = '?';
  char** environment = nullptr;
};

class Image {
 public:
  Image() = default;
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  /// `number` makes its names different from those of all other images of the host. Empty, or one
  /// line why not.
  std::string load(const Closure& closure, int number);

  /// The rank's own variables: where its program has them, if it has them, else in `fallback`.
  /// After `load`.
  void use_data(const Closure& closure, PrivateData& fallback);
  void* data(int which) const { return data_[static_cast<std::size_t>(which)]; }

  /// To be called on the own thread of the rank.
  void copy_thread_data(const Closure& closure) const;

  /// On the rank's own stack.
  void run_initialisers(const Closure& closure, int count, char** words, char** environment) const;
  void run_finalisers(const Closure& closure) const;
  void* entry(const Closure& closure) const;
  /// Which member is loaded there, or -1.
  int member_of_base(const void* base) const;

 private:
  void map_shared_pieces(const ElfTemplate& file, const link_map& map) const;
  void copy_data(const Closure& closure) const;
  void call_wrappers(const Closure& closure) const;
  template <class T>
  T* at(int member, std::uint64_t address) const {
    return reinterpret_cast<T*>(bases_[static_cast<std::size_t>(member)] + address);
  }

  std::vector<std::uintptr_t> bases_;  ///< by member
  std::vector<void*> data_;
};

}  // namespace meantime::host
