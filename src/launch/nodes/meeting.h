// Where the supervisors of a job's nodes meet: one of them, the hub, listens at a port of TCP. The
// others know from who started them where that is, with a secret by which they are told from
// strangers.
#pragma once

#include <string>
#include <string_view>

namespace meantime::launch {

/// SECRET PORT ADDRESS ADDRESS ..., of this machine; empty, and `socket` -1, if there can be none.
/// `socket` does not block.
std::string open_meeting(int& socket);

std::string_view secret_of(std::string_view meeting);

/// A connection to there, whose reads do not block; -1: none within so many seconds.
int connection_to_meeting(const std::string& meeting, double seconds);

/// The other end is taken for lost when its kernel has not taken what was sent for so long.
void bound_silence(int connection, double seconds);

}  // namespace meantime::launch
