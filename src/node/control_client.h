// A rank's side of its control socket and its lifeline to mpiexec (src/protocol/control.h has the
// words). Knows nothing of MPI objects; the rank owns one client and calls it from MPI_Init,
// MPI_Finalize, MPI_Abort and the hang report.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace meantime::node {

/// One rank's line to mpiexec. Any thread may send. Messages never wait for an answer;
/// each returns false if mpiexec can no longer be reached (then the lifeline ends this process).
class ControlClient {
 public:
  ControlClient() = default;
  /// Takes the inherited descriptor (it stays open until the process ends) and makes it
  /// close-on-exec. A descriptor that is not a socket gives a client that is not connected.
  ControlClient(int descriptor, int rank);

  [[nodiscard]] bool connected() const { return descriptor_ >= 0; }

  bool hello(std::string_view library_version, std::string_view way_to_wait = {},
             std::string_view energy_policy = {});
  bool address_posted();
  bool finalized();
  /// After that, if the job is told so (stay_variable): until the supervisor has made its report.
  void wait_to_leave() const;
  bool back();
  /// From now on it is in MPI by sessions alone, or not by them alone.
  bool sessions_only(bool only);
  bool abort(int code, std::string_view text);
  /// A line for the user, told once a job for all remarks of that topic.
  bool remark(std::string_view topic, std::string_view line);
  /// The ranks found that all of them wait for ever, or perhaps do: `what` says so. mpiexec shows
  /// it, then what each rank does, then `hint` (lines, or nothing).
  bool deadlock(std::string_view what, std::string_view hint = {}, bool for_ever = true);
  /// All ranks of this node wait for ever, unless something comes from another one.
  bool still();
  /// The connection to that rank is lost. If it is not the end of somebody else, it is the job's.
  bool unreachable(int world_rank, std::string_view problem);
  /// After `abort`, or a `deadlock` that is for ever: mpiexec asks all to end at once, and kills
  /// below a second later, the naming of places included. Returns true where this process is to end
  /// by itself, for another launcher goes by its exit status; false if it was not heard within two
  /// seconds.
  [[nodiscard]] bool wait_to_be_ended() const;
  /// This rank waits and requests its CPUs slow, or no longer. False also if mpiexec reads too
  /// slowly for more requests: the end of one waits for that instead. Of a host: that worker (its
  /// number in the node).
  bool frequency(bool low, int worker = -1);
  /// A thread rank has ended, as a process would with this exit status.
  bool ended(int code);
  /// A thread rank is about to end its host by this signal; `text` says more.
  bool killed(int signal, std::string_view text);
  /// This process rank is about to die of that signal, as the kernel will tell; `text` says where.
  /// Safe in a handler of a signal, and not told if mpiexec reads too slowly.
  bool crashed(int signal, std::string_view text);

 private:
  [[nodiscard]] bool is_still_ours() const;
  bool send(unsigned kind, int code, std::string_view text, int flags = 0, int worker = -1);

  int descriptor_ = -1;
  // Which socket it was: the program may close it and get the number for one of its own.
  dev_t device_ = 0;
  ino_t socket_ = 0;
  int rank_ = -1;
};

enum class Lifeline {
  held,
  absent,  ///< not an inherited lifeline
  cut,     ///< mpiexec is gone already
};
/// Makes the kernel kill this process (SIGKILL) as soon as mpiexec's supervisor is gone, whatever
/// the process is doing then: computing, stopped, blocking signals. Makes `descriptor`
/// close-on-exec.
Lifeline hold_lifeline(int descriptor);

}  // namespace meantime::node
