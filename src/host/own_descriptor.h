// What a rank calls descriptor 0, 1 or 2 is another number in its host.
#pragma once

namespace meantime::host {

int own_descriptor(int descriptor);

}  // namespace meantime::host
