// A connection between the supervisors of two nodes of a job, which carries messages both ways.
// Both are of one installation, as of one machine's numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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
  ask_list,  ///< of the hub: what do your ranks do?
  list,      ///< text: that
  over,      ///< the sender's part of the job has come to its end, number: with what
  lost       ///< never sent: heard of one that is gone
};

/// Of `state`: the sender's part of the job is over, so this is what it says to all waves.
inline constexpr std::int32_t last_state = -1;

struct LinkMessage {
  LinkKind kind = LinkKind::lost;
  std::int32_t number = 0;
  std::string text;
};

class Link {
 public:
  /// Owns the connection, whose reads do not block.
  explicit Link(int connection) : connection_(connection) {}
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
  /// More than a stranger would have to say to be taken for one of the job.
  void trust() { most_bytes_ = std::size_t{1} << 30; }

 private:
  int connection_;
  std::size_t most_bytes_ = 256;
  std::string heard_;
  bool deaf_ = false;  ///< the other end
};

}  // namespace meantime::launch
