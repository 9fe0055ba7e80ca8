// User-made handles as integers, for Fortran and for whoever keeps handles in an int
// (MPI_Comm_toint …). Predefined handles are their own integer. Others get a number when first
// asked for; it stays with the address, so an object that takes a freed one's place has its number
// too.
#pragma once

#include <unordered_map>
#include <vector>

namespace meantime::core {

class IntegerHandles {
 public:
  int number_of(const void* handle);
  /// nullptr, which no type of handle has, for a number that was never given.
  void* handle_of(int number) const;

 private:
  std::unordered_map<const void*, int> numbers_;
  std::vector<const void*> handles_;  // by number - predefined_handle_limit
};

}  // namespace meantime::core
