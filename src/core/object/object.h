// What lies behind an MPI handle.
//   handle   a pointer of an incomplete type (MPI 5.0 ABI): either one of the standard's small
//            constants, or the address of an Object.
//   Object   the common first words: which kind it is, how many hold it.
// The MPI_*_free calls drop the user's reference; the object goes with its last one.
#pragma once

#include <atomic>
#include <cstdint>

namespace meantime {

enum class Kind : std::uint32_t {
  freed = 0xdeadbeef,
  communicator = 0x4d5401,
  group,
  datatype,
  op,
  request,
  errhandler,
  info,
  session,
  message,
  window,
  file,
  tool_control,
  tool_performance,
  tool_session,
};

struct Object {
  explicit Object(Kind kind) : kind(kind) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  Kind kind;
  std::atomic<std::int32_t> references{1};

  // Objects are private to a rank, and its lock is held: two plain accesses instead of one locked
  // one, which a blocking receive would pay four times. (Atomic only so that a check of the count
  // by another thread's entry point is no race.)
  void retain() {
    references.store(references.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// True when this was the last reference: the caller deletes.
  [[nodiscard]] bool release() {
    const std::int32_t left = references.load(std::memory_order_relaxed) - 1;
    references.store(left, std::memory_order_relaxed);
    return left == 0;
  }

 protected:
  // Stored for whoever looks at a copy of the handle. Not volatile, it would be a store into what
  // ceases to be, which compilers leave out.
  ~Object() { const_cast<volatile Kind&>(kind) = Kind::freed; }
};

/// For smart pointers that hold a reference: gives it back as the object's kind does.
struct Drop {
  template <class T>
  void operator()(T* object) const {
    drop(object);
  }
};

/// The ABI keeps the zero page for predefined handles; every real object lies above it.
inline constexpr std::uintptr_t predefined_handle_limit = 4096;

template <class Handle>
bool is_predefined(Handle handle) {
  return reinterpret_cast<std::uintptr_t>(handle) < predefined_handle_limit;
}

/// An Object behind a user-made handle, or nullptr if it is none of that kind.
template <class T, class Handle>
T* object_behind(Handle handle) {
  if (is_predefined(handle) || reinterpret_cast<std::uintptr_t>(handle) % alignof(T) != 0) {
    return nullptr;
  }
  T* object = reinterpret_cast<T*>(handle);
  return object->kind == T::object_kind ? object : nullptr;
}

}  // namespace meantime
