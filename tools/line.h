// When packets for one node are due: in the order in which they have come, no earlier than the
// delay says, and no faster than the node's device can take them, but for a burst. It is the token
// bucket of tc's tbf, said as the time at which the device would be done with all that it was
// given.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace meantime::tools {

class Line {
 public:
  struct Limit {
    double bytes_per_ns;
    double burst;  ///< bytes that may come at once
    double queue;  ///< bytes that may wait beyond that; what then comes is lost
  };

  Line(std::uint64_t delay_ns, const std::optional<Limit>& limit)
      : delay_ns_(delay_ns), limit_(limit) {}

  /// Nothing: it is lost.
  std::optional<std::uint64_t> due(std::uint64_t came_ns, std::size_t bytes) {
    std::uint64_t due = std::max(came_ns + delay_ns_, last_);
    if (limit_) {
      const auto burst_ns = static_cast<std::uint64_t>(limit_->burst / limit_->bytes_per_ns);
      const auto queue_ns = static_cast<std::uint64_t>(limit_->queue / limit_->bytes_per_ns);
      if (done_ > came_ns + delay_ns_ + burst_ns + queue_ns) {
        return std::nullopt;
      }
      done_ = std::max(done_, due) +
              static_cast<std::uint64_t>(static_cast<double>(bytes) / limit_->bytes_per_ns);
      due = std::max(due, done_ - std::min(done_, burst_ns));
    }
    last_ = due;
    return due;
  }

 private:
  std::uint64_t delay_ns_;
  std::optional<Limit> limit_;
  std::uint64_t last_ = 0;
  std::uint64_t done_ = 0;  ///< when the device would be, without bursts
};

}  // namespace meantime::tools
