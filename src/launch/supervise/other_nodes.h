// The supervisors of a launcher's job over several nodes, one of each, meet for its report: that of
// the first node listens at a port of TCP, the others bring what they have. Where that is they know
// from the launcher's PMIx servers, with the words by which they are told from strangers. (PMIx
// itself brings nothing more by then: to Open MPI 4.1 a second connection of a task is none that
// counts in a fence, and Slurm 22.05 knows no fences of some tasks.)
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace meantime::launch {

/// SECRET PORT ADDRESS ADDRESS ..., of this machine; empty if there can be none.
std::string open_meeting(int& socket);

/// Brings a text. False: it has not been taken within so many seconds.
bool bring_to_meeting(const std::string& meeting, std::string_view text, double seconds);

/// Hears what others bring, until `take`, which says whether a text is one of the job's, has
/// `all_there`, or for so many seconds.
void hear_meeting(const std::string& meeting, int socket, double seconds,
                  const std::function<bool(std::string_view text)>& take,
                  const std::function<bool()>& all_there);

}  // namespace meantime::launch
