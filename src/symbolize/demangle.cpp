#include "symbolize/demangle.h"

#include <cxxabi.h>

#include <cstdlib>

namespace meantime::launch {

std::string demangled(std::string_view text) {
  std::string result;
  for (std::size_t begin; (begin = text.find("(_Z")) != std::string_view::npos;) {
    const std::size_t end = text.find_first_of("+)@\n", begin);
    const std::string name(text.substr(begin + 1, end - begin - 1));
    int status = 0;
    char* const readable = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
    result += text.substr(0, begin + 1);
    result += readable != nullptr ? readable : name;
    std::free(readable);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end);
  }
  return result += text;
}

}  // namespace meantime::launch
