#include "host/image/image.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "host/interpose/lookup.h"

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

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::_Exit(1);
}

void map_shared_pieces(const ElfTemplate& file, std::uintptr_t base) {
  for (const ElfTemplate::SharedPiece& piece : file.shared_pieces()) {
    if (mmap(reinterpret_cast<void*>(base + piece.address), piece.bytes, piece.protection,
             MAP_PRIVATE | MAP_FIXED, file.original(),
             static_cast<off_t>(piece.offset)) == MAP_FAILED) {
      give_up("meantime-host: a program's text");
    }
  }
}

/// Once loaded, variables leave the memory file for the rank's own memory: most pages have been
/// written to and exist twice, and then they are one mapping with the zeroed ones behind them.
void take_out_of_file(const ElfTemplate& file, std::uintptr_t base) {
  std::vector<char> content;
  const std::vector<char> zero(elf::page);
  for (const ElfTemplate::OwnPiece& piece : file.own_pieces()) {
    char* const place = reinterpret_cast<char*>(base + piece.address);
    content.assign(place, place + piece.bytes);
    if (mmap(place, piece.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS,
             -1, 0) == MAP_FAILED) {
      give_up("meantime-host: a program's variables");
    }
    for (std::size_t offset = 0; offset < piece.bytes; offset += elf::page) {
      if (std::memcmp(content.data() + offset, zero.data(), elf::page) != 0) {
        std::memcpy(place + offset, content.data() + offset, elf::page);
      }
    }
  }
}

/// What dlopen says of the copies, `names`, is about these files.
std::string why_not_loaded(const Closure& closure, const std::vector<std::string>& names) {
  const char* const said = dlerror();
  std::string text = said != nullptr ? said : "no reason given";
  if (access(names.front().c_str(), F_OK) != 0) {
    return "no /proc of this pid namespace is mounted (unshare --mount-proc)";
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::size_t place = text.find(names[i]);
    while (place != std::string::npos &&
           std::isdigit(static_cast<unsigned char>(text[place + names[i].size()])) != 0) {
      place = text.find(names[i], place + 1);  // descriptor 3 is not 30
    }
    if (place != std::string::npos) {
      text.replace(place, names[i].size(), closure.members[i]->file.path());
      break;
    }
  }
  return text;
}

}  // namespace

std::string Image::load(const Closure& closure, int number, const ThreadRoom& room) {
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
#if defined(__SANITIZE_ADDRESS__) || defined(MEANTIME_THREAD_SANITIZER)
  // The sanitizers' own refuses RTLD_DEEPBIND, for the sake of libraries that bring a malloc.
  const auto dlopen = reinterpret_cast<decltype(&::dlopen)>(
      dlsym(::dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "dlopen"));
#endif
  // Names are looked for in the image before the host and libc, in the order of a process's own.
  void* const program = dlopen(names[0].c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (program == nullptr) {
    return fmt::format("'{}' cannot be loaded once more: {}", closure.members[0]->file.path(),
                       why_not_loaded(closure, names));
  }
  for (std::size_t i = 0; i < closure.members.size(); ++i) {
    void* handle = dlopen(names[i].c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    link_map* map = nullptr;
    if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
      return fmt::format("'{}' has not been loaded as a copy", closure.members[i]->file.path());
    }
    bases_.push_back(map->l_addr);
    loaded_.push_back({handle, map, map->l_name});
  }
  loaded_.push_back({program, loaded_.front().map, loaded_.front().name});
  for (std::size_t i = 0; i < closure.members.size(); ++i) {
    map_shared_pieces(closure.members[i]->file, bases_[i]);
    take_out_of_file(closure.members[i]->file, bases_[i]);
  }
  copy_data(closure);
  fill_in_lookups(closure);
  fill_in_thread_words(closure, room);
  // The linker has no more use for the made-up names. By these debuggers, profilers and dladdr find
  // the symbols; each image is one more object of that file, at an address of its own.
  for (std::size_t i = 0; i < closure.members.size(); ++i) {
    loaded_[i].map->l_name = const_cast<char*>(closure.members[i]->file.path().c_str());
  }
  return {};
}

void Image::unload() {
  for (const Loaded& each : loaded_) {
    each.map->l_name = each.name;  // which dlclose frees
  }
  for (const Loaded& each : loaded_) {
    dlclose(each.handle);
  }
  loaded_.clear();
  bases_.clear();
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

// The words can be written, because a copy has no "read-only after relocation".

void Image::fill_in_lookups(const Closure& closure) const {
  using Function = LookupReference::Function;
  const auto of_libc = reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, "syscall"));
  for (std::size_t i = 0; i < closure.members.size(); ++i) {
    for (const LookupReference& reference : closure.members[i]->file.lookup_references()) {
      auto& word = *at<std::uintptr_t>(static_cast<int>(i), reference.address);
      switch (reference.function) {
        case Function::dlsym:
          word = reinterpret_cast<std::uintptr_t>(find_for_rank);
          break;
        case Function::dlvsym:
          word = reinterpret_cast<std::uintptr_t>(find_with_version_for_rank);
          break;
        case Function::syscall:
          if (word == of_libc) {  // and not a function of the program's own
            word = reinterpret_cast<std::uintptr_t>(system_call_of_rank);
          }
          break;
      }
    }
  }
}

void Image::fill_in_thread_words(const Closure& closure, const ThreadRoom& room) const {
  for (const Closure::ThreadWord& word : closure.thread_words) {
    auto* const place = at<std::int64_t>(word.member, word.address);
    const auto distance = static_cast<std::int64_t>(room.distance);
    switch (word.kind) {
      case Closure::ThreadWord::Kind::module:
        *place = static_cast<std::int64_t>(room.module);
        break;
      case Closure::ThreadWord::Kind::offset:
        *place = distance + word.value;
        break;
      case Closure::ThreadWord::Kind::added_offset:
        *place += distance + word.value;
        break;
      case Closure::ThreadWord::Kind::distance:
        *place = word.value;
        break;
      case Closure::ThreadWord::Kind::descriptor:
        place[0] = reinterpret_cast<std::int64_t>(meantime_thread_descriptor);
        place[1] = word.value;
        break;
    }
  }
}

void Image::use_data(const Closure& closure, PrivateData& fallback) {
  for (std::size_t i = 0; i < datums; ++i) {
    data_[i] = reinterpret_cast<char*>(&fallback) + place_of(static_cast<Datum>(i)).offset;
  }
  for (const Closure::DataWord& word : closure.data_words) {
    if (word.reference->is_copy) {
      const DatumPlace from = place_of(word.reference->datum);
      void* const place = at<void>(word.member, word.reference->address);
      std::memcpy(place, reinterpret_cast<char*>(&fallback) + from.offset, from.bytes);
      data_[static_cast<std::size_t>(word.reference->datum)] = place;
    }
  }
  for (const Closure::DataWord& word : closure.data_words) {
    if (!word.reference->is_copy) {
      *at<char*>(word.member, word.reference->address) =
          &data<char>(word.reference->datum) + word.reference->addend;
    }
  }
}

void Image::copy_thread_data(const Closure& closure) const {
  char* const pointer = static_cast<char*>(__builtin_thread_pointer());
  for (const Closure::ThreadPart& part : closure.thread_parts) {
    const ThreadBlock& block =
        closure.members[static_cast<std::size_t>(part.member)]->file.thread_block();
    std::memcpy(pointer - part.distance, at<char>(part.member, block.address), block.file_bytes);
  }
}

void* Image::find(const Closure& closure, const char* name, int from, const char* version) const {
  const Closure::Definition found = closure.find(name, from, version);
  if (found.symbol == nullptr) {
    return nullptr;
  }
  switch (ELF64_ST_TYPE(found.symbol->st_info)) {
    case STT_TLS:
      return static_cast<char*>(__builtin_thread_pointer()) + found.symbol->st_value -
             closure.thread_distance(found.member);
    case STT_GNU_IFUNC:
      return at<void*()>(found.member, found.symbol->st_value)();
    default:
      return found.symbol->st_shndx == SHN_ABS ? reinterpret_cast<void*>(found.symbol->st_value)
                                               : at<void>(found.member, found.symbol->st_value);
  }
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
