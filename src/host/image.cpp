#include "host/image.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace meantime::host {
namespace {

/// A path of descriptor's file that no other image of this host has had, though descriptors are
/// used again: "/" and "./" between the last two words are the bits of the image's number. It is
/// nobody else's path either: a debugger that looks on while an image is loaded opens what it reads
/// here, and "/proc/self/fd/4" may be a pipe of its own that it would read for ever.
std::string path_of(int descriptor, int number) {
  std::string path = fmt::format("/proc/self/task/{}/fd/", getpid());
  for (int bit = 0; bit < 16; ++bit) {
    path += ((number >> bit) & 1) != 0 ? "./" : "/";
  }
  return path + fmt::to_string(descriptor);
}

class Descriptors {
 public:
  ~Descriptors() {
    for (int descriptor : all) {
      close(descriptor);
    }
  }
  std::vector<int> all;
};

using Function = void (*)(int, char**, char**);

/// In private_data().
constexpr int first_environment = 7;
bool is_number(int which) {
  return which >= 4 && which < first_environment;
}

}  // namespace

std::string Image::load(const Closure& closure, int number) {
  Descriptors descriptors;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < closure.members.size(); ++i) {
    const int descriptor = memfd_create("meantime-image", MFD_CLOEXEC);
    if (descriptor < 0) {
      return fmt::format("no memory file for a copy of the program: {}", std::strerror(errno));
    }
    descriptors.all.push_back(descriptor);
    names.push_back(path_of(descriptor, number));
  }
  for (std::size_t i = 0; i < closure.members.size(); ++i) {
    const Member& member = *closure.members[i];
    std::vector<std::string> needed;
    for (int index : member.needs) {
      needed.push_back(names[static_cast<std::size_t>(index)]);
    }
    if (!member.file.write_copy(descriptors.all[i], needed)) {
      return fmt::format("no memory for a copy of '{}': {}", member.file.path(),
                         std::strerror(errno));
    }
  }
  void* const program = dlopen(names[0].c_str(), RTLD_NOW | RTLD_LOCAL);
  if (program == nullptr) {
    return fmt::format("'{}' cannot be loaded once more: {}", closure.members[0]->file.path(),
                       dlerror());
  }
  std::vector<link_map*> maps;
  for (std::size_t i = 0; i < closure.members.size(); ++i) {
    void* handle = dlopen(names[i].c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    link_map* map = nullptr;
    if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
      return fmt::format("'{}' has not been loaded as a copy", closure.members[i]->file.path());
    }
    bases_.push_back(map->l_addr);
    map_shared_pieces(closure.members[i]->file, *map);
    maps.push_back(map);
  }
  copy_data(closure);
  call_wrappers(closure);
  // The linker has no more use for the made-up names. By these debuggers, profilers and dladdr find
  // the symbols; each image is one more object of that file, at an address of its own.
  for (std::size_t i = 0; i < maps.size(); ++i) {
    maps[i]->l_name = const_cast<char*>(closure.members[i]->file.path().c_str());
  }
  return {};
}

/// The run-time linker looks for the original of copied data in the program too, unless that is the
/// process's executable, finds the empty place and copies it onto itself.
void Image::copy_data(const Closure& closure) const {
  const std::vector<CopiedData>& copied = closure.members[0]->file.copied_data();
  for (std::size_t i = 0; i < copied.size(); ++i) {
    const Closure::Source& source = closure.copy_sources[i];
    const void* const from = source.member >= 0 ? at<void>(source.member, source.address)
                                                : dlsym(RTLD_DEFAULT, copied[i].name.c_str());
    if (from != nullptr) {
      std::memcpy(at<void>(0, copied[i].address), from, copied[i].bytes);
    }
  }
}

/// A profiling library that the program is linked to: this rank's calls go to this rank's copy of
/// it. The tables can be written, because a copy has no "read-only after relocation".
void Image::call_wrappers(const Closure& closure) const {
  for (const Closure::Wrapped& call : closure.wrapped_calls) {
    *at<std::uintptr_t>(call.member, call.address) =
        reinterpret_cast<std::uintptr_t>(at<char>(call.wrapper.member, call.wrapper.address)) +
        static_cast<std::uintptr_t>(call.addend);
  }
}

void Image::map_shared_pieces(const ElfTemplate& file, const link_map& map) const {
  for (const ElfTemplate::SharedPiece& piece : file.shared_pieces()) {
    void* const place = reinterpret_cast<void*>(map.l_addr + piece.address);
    if (mmap(place, piece.bytes, piece.protection, MAP_PRIVATE | MAP_FIXED, file.original(),
             static_cast<off_t>(piece.offset)) == MAP_FAILED) {
      std::perror("meantime-host: a program's text");
      std::_Exit(1);
    }
  }
}

void Image::use_data(const Closure& closure, PrivateData& fallback) {
  data_ = {&fallback.standard_input,  &fallback.standard_output, &fallback.standard_error,
           &fallback.option_argument, &fallback.option_index,    &fallback.option_errors,
           &fallback.option_unknown,  &fallback.environment,     &fallback.environment,
           &fallback.environment};
  const std::vector<void*> values = data_;
  for (std::size_t i = 0; i < closure.members.size(); ++i) {
    for (const DataReference& reference : closure.members[i]->file.data_references()) {
      if (!reference.is_copy) {
        continue;
      }
      const auto which = static_cast<std::size_t>(reference.which);
      void* const place = at<void>(static_cast<int>(i), reference.address);
      std::memcpy(place, values[which], is_number(reference.which) ? sizeof(int) : sizeof(void*));
      data_[which] = place;
      if (reference.which >= first_environment) {  // three names of one variable
        std::fill(data_.begin() + first_environment, data_.end(), place);
      }
    }
  }
  for (std::size_t i = 0; i < closure.members.size(); ++i) {
    for (const DataReference& reference : closure.members[i]->file.data_references()) {
      if (!reference.is_copy) {
        *at<char*>(static_cast<int>(i), reference.address) =
            static_cast<char*>(data_[static_cast<std::size_t>(reference.which)]) + reference.addend;
      }
    }
  }
}

void Image::copy_thread_data(const Closure& closure) const {
  const Elf64_Phdr* const data = closure.members[0]->file.thread_data();
  if (data == nullptr) {
    return;
  }
  const std::size_t room = (data->p_memsz + data->p_align - 1) / data->p_align * data->p_align;
  char* const pointer = static_cast<char*>(__builtin_thread_pointer());
  std::memcpy(pointer - room, at<char>(0, data->p_vaddr), data->p_filesz);
}

void Image::run_initialisers(const Closure& closure, int count, char** words,
                             char** environment) const {
  const auto run = [&](int member, const ElfTemplate::Functions& functions) {
    if (functions.first != 0) {
      at<std::remove_pointer_t<Function>>(member, functions.first)(count, words, environment);
    }
    for (std::size_t i = 0; i < functions.count; ++i) {
      at<Function>(member, functions.array)[i](count, words, environment);
    }
  };
  run(0, closure.members[0]->file.preinitialisers());
  for (int member : closure.order) {
    run(member, closure.members[static_cast<std::size_t>(member)]->file.initialisers());
  }
}

void Image::run_finalisers(const Closure& closure) const {
  for (auto member = closure.order.rbegin(); member != closure.order.rend(); ++member) {
    const ElfTemplate::Functions& functions =
        closure.members[static_cast<std::size_t>(*member)]->file.finalisers();
    for (std::size_t i = functions.count; i-- > 0;) {
      at<void (*)()>(*member, functions.array)[i]();
    }
    if (functions.first != 0) {
      at<void()>(*member, functions.first)();
    }
  }
}

int Image::member_of_base(const void* base) const {
  const auto found =
      std::find(bases_.begin(), bases_.end(), reinterpret_cast<std::uintptr_t>(base));
  return found == bases_.end() ? -1 : static_cast<int>(found - bases_.begin());
}

void* Image::entry(const Closure& closure) const {
  return at<void>(0, closure.members[0]->file.entry());
}

}  // namespace meantime::host
