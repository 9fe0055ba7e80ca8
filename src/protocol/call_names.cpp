#include "protocol/call_names.h"

#include <iterator>

#include "protocol/generated/call_names.inc"

namespace meantime {

const char* call_name(std::uint16_t call) {
  return call < std::size(generated_call_names) ? generated_call_names[call] : "no MPI call";
}

}  // namespace meantime
