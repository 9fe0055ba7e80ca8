// A program may have a function of its own by any name that is not ISO C's (`sendmsg`), and the
// run-time linker would give it to the library, too, because it looks at the program first. So the
// library calls those of libc's functions by other names: the linker makes each call of `sendmsg`
// one of `__wrap_sendmsg` (--wrap), in libstdc++'s parts as well, which is here a jump through a
// word, like the one in a procedure linkage table that it takes the place of. The words are found
// once, when the library is loaded. Which names these are the build finds itself
// (cmake/BoundNames.cmake).
#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
// What is rightly interposed before libc has one of these: a sanitizer's run-time library, and the
// host of thread ranks, where what is found first is never a rank's.
void __asan_init() __attribute__((weak));
void __tsan_init() __attribute__((weak));
void __msan_init() __attribute__((weak));
int meantime_host_main(int, char**) __attribute__((weak));

struct BoundName {
  const char* name;
  const char* version;
  void** word;
};

#define BOUND(name, version) __attribute__((visibility("hidden"))) void* meantime_bound_##name;
#include "libc/bound_names.inc"
#undef BOUND
}

#if defined(__x86_64__)
#define MEANTIME_JUMP(word) "jmp *" word "(%rip)\n"
#elif defined(__aarch64__)
#define MEANTIME_JUMP(word) "adrp x16, " word "\nldr x16, [x16, :lo12:" word "]\nbr x16\n"
#endif
#define BOUND(name, version)                                                          \
  asm(".text\n.globl __wrap_" #name "\n.hidden __wrap_" #name "\n.type __wrap_" #name \
      ", %function\n__wrap_" #name ":\n.cfi_startproc\n" MEANTIME_JUMP(               \
          "meantime_bound_" #name) ".cfi_endproc\n.size __wrap_" #name ", .-__wrap_" #name "\n");
#include "libc/bound_names.inc"
#undef BOUND

namespace meantime {
namespace {

constexpr BoundName names[] = {
#define BOUND(name, version) {#name, version, &meantime_bound_##name},
#include "libc/bound_names.inc"
#undef BOUND
};

bool is_library(const link_map& map, const char* soname) {
  const char* const slash = std::strrchr(map.l_name, '/');
  return slash != nullptr && std::strcmp(slash + 1, soname) == 0;
}

const link_map* loaded(const char* soname) {
  for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
    if (is_library(*map, soname)) {
      return map;
    }
  }
  return nullptr;
}

/// A function of one library, without the run-time linker: dlsym itself is a name that a program
/// may have.
void* function_in(const link_map& map, const char* name) {
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* table = nullptr;
  for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB:
        symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
        break;
      case DT_STRTAB:
        strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
        break;
      case DT_GNU_HASH:
        table = reinterpret_cast<const std::uint32_t*>(entry->d_un.d_ptr);
        break;
      default:
        break;
    }
  }
  if (symbols == nullptr || strings == nullptr || table == nullptr) {
    return nullptr;
  }
  std::uint32_t hash = 5381;
  for (const char* letter = name; *letter != '\0'; ++letter) {
    hash = hash * 33 + static_cast<unsigned char>(*letter);
  }
  const std::uint32_t bucket_count = table[0];
  const std::uint32_t first_symbol = table[1];
  const std::uint32_t* const buckets = table + 4 + table[2] * (sizeof(ElfW(Addr)) / 4);
  const std::uint32_t* const hashes = buckets + bucket_count;
  std::uint32_t at = buckets[hash % bucket_count];
  if (at < first_symbol) {
    return nullptr;
  }
  for (;; ++at) {
    const std::uint32_t other = hashes[at - first_symbol];
    if ((other | 1U) == (hash | 1U) && std::strcmp(strings + symbols[at].st_name, name) == 0) {
      return reinterpret_cast<void*>(map.l_addr + symbols[at].st_value);
    }
    if ((other & 1U) != 0) {
      return nullptr;
    }
  }
}

[[noreturn]] void not_in_libc() {
  std::fputs("Meantime: this libc lacks a function that Meantime was built with\n", stderr);
  std::abort();
}

}  // namespace

extern "C" __attribute__((visibility("hidden"))) void meantime_bind_libc();
void meantime_bind_libc() {
  const link_map* map = loaded("libc.so.6");
  if (function_in(*map, "dlopen") == nullptr) {
    map = loaded("libdl.so.2");  // glibc before 2.34
  }
  const auto open_library =
      reinterpret_cast<void* (*)(const char*, int)>(function_in(*map, "dlopen"));
  const auto find = reinterpret_cast<void* (*)(void*, const char*)>(function_in(*map, "dlsym"));
  const auto find_version =
      reinterpret_cast<void* (*)(void*, const char*, const char*)>(function_in(*map, "dlvsym"));
  void* const libc = open_library("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  const bool others_interpose = __asan_init != nullptr || __tsan_init != nullptr ||
                                __msan_init != nullptr || meantime_host_main != nullptr;
  for (const BoundName& bound : names) {
    void* found = find_version(libc, bound.name, bound.version);
    if (found == nullptr) {
      found = find_version(RTLD_NEXT, bound.name, bound.version);  // in libpthread, libm
    }
    if (others_interpose) {
      void* const first = find(RTLD_DEFAULT, bound.name);
      if (first != nullptr && first != find(libc, bound.name)) {
        found = first;
      }
    }
    *bound.word = found != nullptr ? found : reinterpret_cast<void*>(not_in_libc);
  }
}

}  // namespace meantime

// Before every constructor of C++.
asm(".section .init_array.00000,\"aw\",%init_array\n.balign 8\n.8byte meantime_bind_libc\n.text\n");
