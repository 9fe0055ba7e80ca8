#include "core/error/error_classes.h"

#include <mpi.h>

#include <algorithm>
#include <iterator>

#include "core/generated/error_classes.inc"

namespace meantime {

const ErrorClass* find_error_class(int value) {
  const auto* found =
      std::ranges::lower_bound(generated_error_classes, value, {}, &ErrorClass::value);
  return found != std::end(generated_error_classes) && found->value == value ? found : nullptr;
}

}  // namespace meantime
