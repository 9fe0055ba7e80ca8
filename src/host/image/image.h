// One rank's image: private copies of the program and its libraries, loaded by the run-time linker
// as so many libraries of other names.
#pragma once

#include <link.h>

#include <array>
#include <string>
#include <vector>

#include "host/image/closure.h"

namespace meantime::host {

class Image {
 public:
  Image() = default;
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  /// `number` makes its names different from those of all other images of the host. Empty, or one
  /// line why not.
  std::string load(const Closure& closure, int number, const ThreadRoom& room);

  /// Takes it out of the process again. Nothing of it may be in use.
  void unload();

  /// The rank's own variables: where its program has them, if it has them, else in `fallback`.
  /// After `load`.
  void use_data(const Closure& closure, PrivateData& fallback);
  template <class T>
  T& data(Datum datum) const {
    return *static_cast<T*>(data_[static_cast<std::size_t>(datum)]);
  }

  /// To be called on the own thread of the rank, and on each thread that the rank starts.
  void copy_thread_data(const Closure& closure) const;

  /// On the rank's own stack.
  void run_initialisers(const Closure& closure, int count, char** words, char** environment) const;
  void run_finalisers(const Closure& closure) const;
  void* entry(const Closure& closure) const;
  /// Which member is loaded there, or -1.
  int member_of_base(const void* base) const;
  /// What dlsym tells of a name: the first definition of it from that member on, or nullptr.
  void* find(const Closure& closure, const char* name, int from, const char* version) const;

 private:
  void copy_data(const Closure& closure) const;
  void fill_in_lookups(const Closure& closure) const;
  void fill_in_thread_words(const Closure& closure, const ThreadRoom& room) const;
  template <class T>
  T* at(int member, std::uint64_t address) const {
    return reinterpret_cast<T*>(bases_[static_cast<std::size_t>(member)] + address);
  }

  std::vector<std::uintptr_t> bases_;  ///< by member
  struct Loaded {
    void* handle;
    link_map* map;
    char* name;  ///< that the run-time linker has taken memory for
  };
  std::vector<Loaded> loaded_;  ///< by member, and the program once more
  std::array<void*, datums> data_{};
};

}  // namespace meantime::host
