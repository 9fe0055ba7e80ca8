#include "core/error/callback.h"

namespace meantime::core {

constinit thread_local Thrown thrown;

void keep_thrown() {
  try {
    throw;
  } catch (const abi::__forced_unwind&) {
    thrown.passing = true;
    throw;
  } catch (...) {
    std::exception_ptr exception = std::current_exception();
    if (exception == nullptr) {  // of another language
      thrown.passing = true;
      throw;
    }
    thrown.kept = new std::exception_ptr(std::move(exception));
  }
}

void forget_thrown() {
  delete std::exchange(thrown.kept, nullptr);
}

void release_thrown() {
  if (thrown.kept == nullptr) [[likely]] {
    return;
  }
  const std::exception_ptr exception = std::move(*thrown.kept);
  forget_thrown();
  thrown.passing = true;
  std::rethrow_exception(exception);
}

}  // namespace meantime::core
