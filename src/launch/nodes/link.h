// A connection between the supervisors of two nodes of a job, which carries messages both ways.
// Both are of one installation, as of one machine's numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace meantime::launch {

enum class LinkKind : std::uint8_t {
  hello,      ///< first, to the hub: number is the sender's node, text the meeting's secret
  addresses,  ///< what is on the sender's board (addresses.h)
  silent,     ///< one of its ranks, which text names, ended without MPI_Init; number: with what
  end,        ///< the job is to end, number: with what
  signal,     ///< number is one for all ranks
  report,     ///< text: node_report.h
  taken,      ///< the report was one of the job's
  still,      ///< nothing on its node goes on by itself (deadlock/over_nodes.h)
  ask,        ///< of the hub: number is a wave
  state,  ///< text: what the sender's node says (deadlock/node_state.h); number: in that wave, or
          ///< last_state
  ask_list,     ///< of the hub: what do your ranks do?
  list,         ///< text: that
  over,         ///< the sender's part of the job has come to its end, number: with what
  beat,         ///< the sender is awake; text: its node's name (other_nodes.h)
  unreachable,  ///< number is a rank, which one that text names does not reach, and in its second
                ///< line why
  lost          ///< never sent: heard of one that is gone; number is `fell_silent` if it has only
                ///< not been heard of
};

/// Of `lost`.
inline constexpr std::int32_t fell_silent = 1;

/// Of `state`: the sender's part of the job is over, so this is what it says to all waves.
inline constexpr std::int32_t last_state = -1;

struct LinkMessage {
  LinkKind kind = LinkKind::lost;
  std::int32_t number = 0;
  std::string text;
};

class Link {
 public:
  /// Owns the connection, whose reads do not block. An end that reads nothing is waited for so
  /// long.
  Link(int connection, double patience_seconds)
      : connection_(connection), patience_ms_(static_cast<int>(patience_seconds * 1000)) {}
  ~Link();
  Link(Link&& other) noexcept;
  Link& operator=(Link&&) = delete;

  [[nodiscard]] int connection() const { return connection_; }

  /// Waits while the other end reads something now and then. False: it does not, or is gone; what
  /// it has said is still heard.
  bool send(LinkKind kind, std::int32_t number, std::string_view text = {});
  /// False: nothing complete is there yet. After `lost` it is not to be asked again.
  bool receive(LinkMessage& message);
  /// Nothing more will be sent. Returns when the other end has let go, which it does once it has
  /// heard all, or after a while.
  void finish();
  /// Whether anything has come since it was last asked. (What has come is read first.)
  bool has_spoken() { return std::exchange(has_spoken_, false); }
  /// It is heard of as lost next.
  void give_up();
  /// More than a stranger would have to say to be taken for one of the job.
  void trust() { most_bytes_ = std::size_t{1} << 30; }

 private:
  int connection_;
  int patience_ms_;
  std::size_t most_bytes_ = 256;
  std::string heard_;
  bool deaf_ = false;  ///< the other end
  bool has_spoken_ = true;
  bool given_up_ = false;
};

}  // namespace meantime::launch
