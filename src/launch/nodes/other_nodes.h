// The other nodes of a job, as the supervisor of one knows them. One supervisor is the hub (of a
// node, or of none): it is linked to each other one (a member), which is linked to it alone, and
// passes on what one says to all.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launch/nodes/link.h"

namespace meantime::launch {

class OtherNodes {
 public:
  OtherNodes() = default;
  ~OtherNodes();
  OtherNodes(const OtherNodes&) = delete;
  OtherNodes& operator=(const OtherNodes&) = delete;

  /// The hub's: expects so many members, which are numbered from 0, at the meeting whose socket it
  /// owns from now on.
  void expect(std::string_view meeting, int socket, int members, double most_silent_seconds);
  /// A member's. False: the hub is not there.
  bool join(const std::string& meeting, int member, double most_silent_seconds);

  /// The hub's: all have come that are to.
  void expect_nobody();

  [[nodiscard]] bool is_hub() const { return !members_.empty(); }
  [[nodiscard]] bool is_member() const { return hub_ != nullptr; }
  [[nodiscard]] bool has_joined(int member) const { return members_[member] != nullptr; }

  /// Readable when there may be news.
  [[nodiscard]] int events() const { return events_; }
  struct News {
    int member = -1;  ///< who says it; -1: the hub
    LinkMessage message;
  };
  bool hear(News& news);

  /// To all that this one is linked to, but for one of the members.
  void tell(LinkKind kind, int number, std::string_view text = {}, int except = -1);
  void tell_member(int member, LinkKind kind, int number, std::string_view text = {});
  /// A member's: its part is over, and nothing more is heard.
  void leave(int status);
  /// The hub's, of a member that has told so.
  void let_go(int member) { members_[static_cast<std::size_t>(member)].reset(); }

 private:
  void accept_some();
  void hear_strangers();
  void watch(int descriptor);

  int events_ = -1;  ///< once there is something to hear
  int socket_ = -1;  ///< -1: nobody is expected
  double most_silent_seconds_ = 0;
  std::string secret_;
  std::unique_ptr<Link> hub_;
  std::vector<std::unique_ptr<Link>> members_;    ///< nullptr: not there yet, or gone
  std::vector<std::unique_ptr<Link>> strangers_;  ///< who have not said who they are
};

}  // namespace meantime::launch
