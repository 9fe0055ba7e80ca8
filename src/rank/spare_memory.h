// Memory of short-lived objects of a rank, kept for the next of the same size: a window of
// non-blocking messages makes and frees a request for each, more than malloc's per-thread cache
// holds. Rank's lock held.
#pragma once

#include <cstddef>
#include <new>

namespace meantime {

class SpareMemory {
 public:
  SpareMemory() = default;
  ~SpareMemory() { free_all(); }
  SpareMemory(const SpareMemory&) = delete;
  SpareMemory& operator=(const SpareMemory&) = delete;

  void* take(std::size_t bytes) {
    const std::size_t index = class_of(bytes);
    if (index >= classes || free_[index] == nullptr) {
      return ::operator new(index < classes ? (index + 1) * grain : bytes);
    }
    Spare* spare = free_[index];
    free_[index] = spare->next;
    return spare;
  }

  /// `bytes`: as asked for in `take`.
  void give_back(void* memory, std::size_t bytes) {
    const std::size_t index = class_of(bytes);
    if (index >= classes || hands_on) {
      ::operator delete(memory);
      return;
    }
    free_[index] = new (memory) Spare{free_[index]};
  }

  /// At the end of the rank's MPI: nothing of it stays.
  void free_all() {
    for (Spare*& first : free_) {
      while (first != nullptr) {
        Spare* next = first->next;
        ::operator delete(first);
        first = next;
      }
    }
  }

 private:
  // No more than one word: behind it an object's memory goes on to say that it is freed.
  struct Spare {
    Spare* next;
  };
  static constexpr std::size_t grain = 64;
  static constexpr std::size_t classes = 8;
#if defined(__SANITIZE_ADDRESS__)
  static constexpr bool hands_on = true;  // so that it sees a use of what is freed
#elif defined(__has_feature)
  static constexpr bool hands_on = __has_feature(address_sanitizer);  // Clang's way to tell
#else
  static constexpr bool hands_on = false;
#endif

  static std::size_t class_of(std::size_t bytes) {
    return (bytes - 1) / grain;
  }

  Spare* free_[classes] = {};
};

}  // namespace meantime
