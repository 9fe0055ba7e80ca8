// The folders and links by which a path leads to a file. Whoever may write one of them may put
// another file at the path's end, whoever the file belongs to.
#pragma once

#include <sys/stat.h>

#include <string>

namespace meantime::settings {

/// Why it is not the caller and root alone who say what is found at `path` (absolute), in one line;
/// empty if it is. `file`: what was found there, which must still be there. Folders in which
/// everybody may only touch what is his own (/tmp) will do.
std::string way_problem(const std::string& path, const struct stat& file);

}  // namespace meantime::settings
