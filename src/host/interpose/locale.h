// What other files of the host need to know of a rank's locale.
#pragma once

namespace meantime::host {

/// The calling thread, which its rank has just started, uses the rank's locale.
void begin_with_locale_of_rank();

}  // namespace meantime::host
