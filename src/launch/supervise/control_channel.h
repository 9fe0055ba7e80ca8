// Reading what a rank sends on its control socket, and who sent it.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "protocol/control.h"

namespace meantime::launch {

class ControlChannel {
 public:
  enum class Outcome {
    nothing,  ///< no packet now
    message,  ///< `message` and `text`
    foreign,  ///< a packet that is not ours: another MPI library greets its launcher
    hung_up,  ///< every holder of the other end is gone
  };

  /// Makes our end of a rank's socket tell the sender's pid with each packet. Before the rank
  /// starts.
  static void prepare(int socket);

  /// Takes the next packet without waiting. What it says is valid until the next call.
  Outcome receive(int socket);

  ControlMessage message;
  std::string_view text;
  pid_t sender = -1;  ///< as this process sees it, also if the rank is in a container; -1 unknown

 private:
  char packet_[sizeof(ControlMessage) + control_text_limit];
};

}  // namespace meantime::launch
