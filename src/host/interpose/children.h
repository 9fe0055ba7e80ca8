// What streams have to know of children: popen's are closed with their child.
#pragma once

#include <cstdio>

namespace meantime::host {

/// True for a stream that the rank has from popen.
bool is_of_child(std::FILE* stream);
/// fclose, but for popen's.
int close_stream(std::FILE* stream);

}  // namespace meantime::host
