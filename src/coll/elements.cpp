#include "coll/elements.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace meantime::coll {

Room::Room(MPI_Count count, const Datatype& type) : bytes(1), buffer(0) {
  if (count == 0) {
    return;
  }
  // From the lowest to the highest byte of data, whichever way the extent points.
  const MPI_Count reach = (count - 1) * type.extent;
  const MPI_Count lowest = type.true_lb + std::min<MPI_Count>(0, reach);
  const MPI_Count span = type.true_extent + (reach < 0 ? -reach : reach);
  // An operator relies on the alignment of the whole element, so it is the address from which
  // `lowest` counts that is aligned, as a user's buffer is.
  constexpr auto alignment = static_cast<MPI_Count>(alignof(std::max_align_t));
  const MPI_Count pad = (lowest % alignment + alignment) % alignment;
  bytes = static_cast<std::size_t>(span + pad);
  buffer = pad - lowest;
}

/// Elements laid out as the operator's own datatype says.
class Elements::Workplace {
 public:
  Workplace(MPI_Count count, Datatype& type)
      : type_(type), room_(count, type), memory_(new char[room_.bytes]()) {}
  void* buffer() { return memory_.get() + room_.buffer; }
  void take(const char* deposit, MPI_Count count) {
    unpack(buffer(), count, type_, 0, deposit, bytes(count));
  }
  void give(char* deposit, MPI_Count count) {
    pack(buffer(), count, type_, 0, deposit, bytes(count));
  }

 private:
  std::size_t bytes(MPI_Count count) const {
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(type_.size);
  }

  Datatype& type_;
  Room room_;
  std::unique_ptr<char[]> memory_;
};

void Elements::put(const void* buffer, MPI_Count first, MPI_Count count, char* deposit) const {
  if (type_.contiguous) {
    std::memcpy(deposit, user(buffer, first) + type_.true_lb, bytes(count));
  } else if (as_in_memory_) {
    copy_elements(user(buffer, first), count, type_, deposit - type_.true_lb, count, type_);
  } else {
    pack(user(buffer, first), count, type_, 0, deposit, bytes(count));
  }
}

void Elements::get(const char* deposit, void* buffer, MPI_Count first, MPI_Count count) const {
  if (type_.contiguous) {
    std::memcpy(user(buffer, first) + type_.true_lb, deposit, bytes(count));
  } else if (as_in_memory_) {
    copy_elements(deposit - type_.true_lb, count, type_, user(buffer, first), count, type_);
  } else {
    unpack(user(buffer, first), count, type_, 0, deposit, bytes(count));
  }
}

void Elements::join(const DepositOf& deposit, int members, MPI_Count count) const {
  if (count == 0) {
    return;
  }
  const int last = members - 1;
  if (!here_) {
    reduce_elsewhere([&](int step) { return deposit(last - step); }, members, false, count);
    return;
  }
  char* const sum = deposit(last) - type_.true_lb;
  for (int member = last - 1; member >= 0; --member) {
    reduce_local(op_, deposit(member) - type_.true_lb, sum, count, type_);
  }
}

void Elements::join_prefixes(const DepositOf& deposit, int members, MPI_Count count) const {
  if (count == 0) {
    return;
  }
  if (!here_) {
    reduce_elsewhere(deposit, members, true, count);
    return;
  }
  for (int member = 1; member < members; ++member) {
    reduce_local(op_, deposit(member - 1) - type_.true_lb, deposit(member) - type_.true_lb, count,
                 type_);
  }
}

void Elements::join_chain(char* first, std::size_t distance, int members) const {
  const auto last = static_cast<std::size_t>(members - 1);
  if (here_) {
    reduce_chain(op_, first - type_.true_lb, distance, members - 1,
                 first + last * distance - type_.true_lb, type_);
    return;
  }
  join([&](int member) { return first + static_cast<std::size_t>(member) * distance; }, members, 1);
}

void Elements::reduce_elsewhere(const DepositOf& of_step, int steps, bool prefixes,
                                MPI_Count count) const {
  // A few elements at a time: those that lie far apart must not take as much memory as the user's
  // array has.
  constexpr MPI_Count most_bytes = 256 * 1024;
  const MPI_Count apart = std::max({std::abs(type_.extent), type_.true_extent, MPI_Count{1}});
  const MPI_Count together = std::clamp<MPI_Count>(most_bytes / apart, 1, count);
  Workplace first(together, type_);
  Workplace second(together, type_);
  Workplace* sum = &first;
  Workplace* next = &second;
  for (MPI_Count done = 0; done < count; done += together) {
    const MPI_Count part = std::min(together, count - done);
    const std::size_t offset = bytes(done);
    sum->take(of_step(0) + offset, part);
    for (int step = 1; step < steps; ++step) {
      next->take(of_step(step) + offset, part);
      if (prefixes) {
        reduce_local(op_, sum->buffer(), next->buffer(), part, type_);
        next->give(of_step(step) + offset, part);
        std::swap(sum, next);
      } else {
        reduce_local(op_, next->buffer(), sum->buffer(), part, type_);
      }
    }
    if (!prefixes) {
      sum->give(of_step(0) + offset, part);
    }
  }
}

}  // namespace meantime::coll
