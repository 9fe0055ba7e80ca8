// What rows.cpp and its library share.
#pragma once

#include <stdexcept>
#include <string>

extern std::string library_text;
extern int library_numbers[6];
extern thread_local std::string library_thread;
extern int library_destroyed;

struct Shape {
  static int count;
  virtual ~Shape();
  virtual int sides() const;
};
template <class T>
struct Kept {
  static T value;
};
template <class T>
T Kept<T>::value = 10;

struct Refused : std::runtime_error {
  explicit Refused(int number) : std::runtime_error("refused"), value(number) {}
  int value;
};
int of_library();
[[noreturn]] void throw_refused(int value);
int call_back(int (*function)(int), int value);
