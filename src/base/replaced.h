// A variable that has another value for a scope, whatever ends it.
#pragma once

#include <utility>

namespace meantime {

template <class Value>
class Replaced {
 public:
  Replaced(Value& place, Value value) : place_(place), before_(std::exchange(place, value)) {}
  ~Replaced() { place_ = before_; }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;

 private:
  Value& place_;
  const Value before_;
};

}  // namespace meantime
