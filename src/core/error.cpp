#include "core/error.h"

namespace meantime {
namespace {

// Of the thread, not of the rank: several threads of a rank may fail at once.
thread_local std::string detail;

}  // namespace

std::string_view error_detail() {
  return detail;
}
void set_error_detail(std::string text) {
  detail = std::move(text);
}

}  // namespace meantime
