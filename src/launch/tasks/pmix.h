// What a launcher that speaks PMIx says of this process (PMIx standard 4.1): who it is, who else is
// on its node, and a text from the first of them to the others. The library is loaded when it is
// asked for, so that nothing else of Meantime needs it: the launcher's own, if that can be told,
// for other versions understand each other with complaints.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace meantime::launch {

/// "0,1,2,3", in ascending order.
std::vector<int> numbers_in(std::string_view list);

class Pmix {
 public:
  Pmix() = default;
  Pmix(const Pmix&) = delete;
  Pmix& operator=(const Pmix&) = delete;

  /// To the server of that process. Empty, or one line why not.
  std::string connect(pid_t launcher);
  /// Of a task's first connection, for Open MPI 4.1 does not tell later ones the truth: what
  /// follows but for `rank` and `size`. Empty, or one line why not.
  std::string read_place();
  void disconnect();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// Which of the launcher's programs it runs, from 0.
  [[nodiscard]] int app_number() const { return app_number_; }
  /// Ranks of this job on this node, in ascending order.
  [[nodiscard]] const std::vector<int>& on_this_node() const { return on_this_node_; }
  /// This node, as the launcher has it; empty if it does not say.
  [[nodiscard]] const std::string& node_name() const { return node_name_; }

  /// To be called by all tasks of the job: `text` of the node's first one becomes that of all
  /// others of the node, and `card`, and of rank 0 `meeting`, can be read by all others. Empty, or
  /// one line why not.
  std::string share(std::string& text, const std::string& card, const std::string& meeting);
  /// Asks the launcher to end the job. Empty, or one line why not.
  std::string abort(int status);
  /// Afterwards, that of another. Empty, or one line why not.
  std::string read_card(int rank, std::string& card);
  std::string read_meeting(std::string& meeting);

 private:
  struct Library;
  std::string count_programs();
  std::string read(int rank, const std::string& key, std::string& text);

  Library* library_ = nullptr;
  int rank_ = -1;
  int size_ = 0;
  int app_number_ = 0;
  int program_ = 0;  ///< MPI programs of this task before this one, if there are several nodes
  std::vector<int> on_this_node_;
  std::string node_name_;
};

}  // namespace meantime::launch
