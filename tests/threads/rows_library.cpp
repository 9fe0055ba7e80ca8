// A shared library of a C++ program: data that the program has copies of, statics of templates that
// both instantiate, an exception of its own.
#include "rows_library.h"

std::string library_text = "of the library, too long to stand in the string itself";
int library_numbers[6] = {1, 2, 3, 4, 5, 6};
thread_local std::string library_thread = "library's thread";
int Shape::count = 0;
int library_destroyed = 0;

Shape::~Shape() {
  ++library_destroyed;
}
int Shape::sides() const {
  return 4;
}
int of_library() {
  return ++Kept<int>::value;
}
void throw_refused(int value) {
  throw Refused(value);
}
int call_back(int (*function)(int), int value) {
  try {
    return function(value);
  } catch (const Refused& refused) {
    return -refused.value;
  }
}
