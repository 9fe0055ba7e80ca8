// The other nodes of a job, as the supervisor of one knows them. One supervisor is the hub (of a
// node, or of none): it is linked to each other one (a member), which is linked to it alone, and
// passes on what one says to all.
//   beat    the hub's to each member, a few in the time after which one is lost, and each answers.
//           So one is missed that is stopped, or whose machine or network is gone, though the
//           kernel there may still answer for it
//   silent  a member of which the hub has heard nothing between several of its beats, or a hub that
//           a member has not heard of for that long, each of which has been awake itself: what has
//           come meanwhile lies in the socket, and is read first, and a beat that was late counts
//           for nothing. So a job that is stopped as a whole, or a machine that sleeps, goes on.
//           Who is about to be busy for long beats before it is asked (`beat_if_due`)
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/timer.h"
#include "launch/nodes/link.h"

namespace meantime::launch {

class OtherNodes {
 public:
  OtherNodes() = default;
  ~OtherNodes();
  OtherNodes(const OtherNodes&) = delete;
  OtherNodes& operator=(const OtherNodes&) = delete;

  /// What others know this node by, and the time within which a silent one is lost.
  void set_up(std::string_view name, double most_silent_seconds);
  /// The hub's: expects so many members, which are numbered from 0, at the meeting whose socket it
  /// owns from now on.
  void expect(std::string_view meeting, int socket, int members);
  /// A member's. False: the hub is not there.
  bool join(const std::string& meeting, int member);

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
  /// Of one that is not heard of any more, as it has said it last; it may be empty.
  [[nodiscard]] const std::string& name_of(int member) const {
    return member < 0 ? hub_name_ : names_[static_cast<std::size_t>(member)];
  }
  /// For whoever does not come to `hear` for a while.
  void beat_if_due();

  /// To all that this one is linked to, but for one of the members.
  void tell(LinkKind kind, int number, std::string_view text = {}, int except = -1);
  void tell_member(int member, LinkKind kind, int number, std::string_view text = {});
  /// A member's: its part is over, and nothing more is heard.
  void leave(int status);
  /// The hub's, of a member that has told so.
  void let_go(int member) { members_[static_cast<std::size_t>(member)].reset(); }

 private:
  [[nodiscard]] double between_beats() const;
  [[nodiscard]] double until_hub_is_silent() const;
  void beat();
  void beat_to_all();
  void expect_beat(double seconds);
  void accept_some();
  bool hear_hub(News& news);
  bool hear_members(News& news);
  void hear_strangers();
  void watch(int descriptor);

  int events_ = -1;  ///< once there is something to hear
  int socket_ = -1;  ///< -1: nobody is expected
  double most_silent_seconds_ = 10;
  Timer beat_;  ///< the hub's next; a member's: until when it is to hear the hub's
  double beat_due_ = 0;
  double last_beat_ = 0;
  std::string secret_;
  std::string name_;
  std::string hub_name_;
  std::vector<std::string> names_;  ///< of members
  std::unique_ptr<Link> hub_;
  std::vector<std::unique_ptr<Link>> members_;    ///< nullptr: not there yet, or gone
  std::vector<int> unanswered_;                   ///< beats in a row, of members
  std::vector<std::unique_ptr<Link>> strangers_;  ///< who have not said who they are
};

}  // namespace meantime::launch
