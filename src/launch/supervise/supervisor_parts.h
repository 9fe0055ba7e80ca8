// The supervisor from inside: what the parts of it share. It starts the ranks and runs the loop of
// events (supervisor.cpp), takes what ranks tell it (supervisor_messages.cpp), judges how they end
// (supervisor_ends.cpp), and speaks with the supervisors of other nodes (supervisor_nodes.cpp).
#pragma once

#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/timer.h"
#include "deadlock/over_nodes.h"
#include "launch/guests/guest_freeze.h"
#include "launch/guests/guest_trials.h"
#include "launch/guests/guests.h"
#include "launch/job.h"
#include "launch/nodes/other_nodes.h"
#include "launch/report/job_figures.h"
#include "launch/report/ledger_report.h"
#include "launch/start/starter.h"
#include "launch/supervise/control_channel.h"
#include "launch/supervise/early_signals.h"
#include "launch/supervise/ending.h"
#include "launch/supervise/relay.h"
#include "machine/energy_meter.h"
#include "machine/memory.h"

namespace meantime::launch {

/// For the addresses in what a rank said last, while the job is ending: mpiexec hears nothing else
/// meanwhile.
inline constexpr double most_naming_seconds = 0.4;

/// CPU seconds of all that run on the CPUs that this process may use, and so its ranks.
std::optional<double> busy_seconds();

/// What an epoll event is about: the high half of its data; the low half is a rank, or a host.
enum class Source : std::uint32_t {
  signals,
  time_limit,
  energy_look,
  library_look,
  grace,
  control,
  host_control,
  mpi_process,
  launcher,
  guests,
  guests_late,
  guest_trials,
  guest_freeze,
  output,
  other_nodes,
  members_late,
  still_look,
  list_limit,
  unreachable
};

inline constexpr int timeout_status = 124;
/// What members may take to say what their ranks do: names of places are looked up by addr2line.
inline constexpr double listing_seconds = 10;

class Supervisor {
 public:
  Supervisor(Job& job, pid_t front)
      : job_(job),
        front_(front),
        starter_(job),
        relay_(job),
        ending_(job),
        guests_(job),
        trials_(job, guests_, segment_),
        freeze_(job, guests_, segment_),
        over_nodes_(job.members.empty() ? static_cast<std::size_t>(job.nodes)
                                        : job.members.size()) {}
  ~Supervisor() { segment_.unmap(); }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// To the end of the job; returns mpiexec's exit status.
  int run();

 private:
  // Starting.
  bool prepare();
  bool start_ranks();
  [[nodiscard]] bool front_is_gone() const;
  bool killed_meanwhile();
  bool start_process(int rank);
  bool start_host(int number);
  void leave_the_process_group();
  bool cannot_start(const std::string& line);
  void watch(int descriptor, Source source, int number = 0);

  // Events.
  void wait_for_event();
  void on_signals();
  void on_signal(const signalfd_siginfo& info);
  void act_on(int signal, int ranks_with_it);
  bool asked_for(int signal);
  void reap();
  void on_control(int rank);
  void on_host_control(int number);
  void hear_all();
  void on_message(int rank, const ControlMessage& message, std::string_view text);
  void on_foreign_message(int rank);
  void ask_launcher_to_end(int status);
  void let_task_end(int rank, int status);
  void end_job(int rank, int status, const std::string& line);
  [[nodiscard]] bool all_tasks_are_gone() const;
  void tell_of_deadlock(int rank, std::string_view what, std::string_view list,
                        std::string_view hint, bool for_ever);

  // Stillness (supervisor_stillness.cpp).
  void look_over_nodes();
  void go_on(wait::OverNodes::Next next);
  void answer_wave(int wave);
  void say_last_state();
  void on_state(int member, int wave, std::string_view words);
  [[nodiscard]] std::string own_list() const;
  void on_list(int member, std::string_view text);
  void tell_list_if_complete();
  void tell_list();

  void on_rank_ended(int rank, int wait_status);
  void on_host_ended(int number, int wait_status);
  void judge(int rank, int wait_status);
  void on_mpi_process_gone(int rank);
  void check_for_stragglers();
  void look_at_libraries();

  // Other nodes (supervisor_nodes.cpp).
  /// Among the members; the hub's own, if it has ranks.
  [[nodiscard]] int own_number() const;
  bool meet_other_nodes();
  void tell_addresses();
  void on_other_nodes();
  void welcome(int member);
  void on_news(const OtherNodes::News& news);
  void on_lost(int member, bool silent);
  [[nodiscard]] std::string line_of_lost(int member) const;
  [[nodiscard]] std::string text_of_member(int member) const;
  [[nodiscard]] int any_rank_here() const;
  void tell_unreachable(int rank, const std::string& text);
  void on_unreachable();
  void tell_of_the_end();
  [[nodiscard]] bool members_are_over() const;
  void leave_other_nodes();
  bool bring_report(const std::string& report, double patience);
  void take_reports(JobFigures& figures, JobTimes& times, double patience);

  // Those that it starts (supervisor_members.cpp).
  [[nodiscard]] int order_for(int member) const;
  bool start_input();
  void end_input();
  bool start_members();
  bool on_shell_ended(pid_t pid, int wait_status);
  void hold_for_those_to_come(int signal);
  void on_members_late();

  // Guests.
  void look_at_waits();
  void ignore_waits();
  void hear_guests();

  bool all_gone();
  void finish_output();

  // The report (supervisor_report.cpp).
  void report_if_all_stay();
  static void let_leave(const RankProcess& process);
  void report_ledger(bool all_stay);
  JobTimes times_so_far(const ledger::Figures& figures);
  bool get_together(JobFigures& figures, JobTimes& times, double patience);
  [[nodiscard]] std::string name(int rank) const;
  [[nodiscard]] std::string killed_by(int signal) const;

  Job& job_;
  /// Not asked of the kernel here: a front that is gone already would be its heir, init.
  const pid_t front_;
  Starter starter_;
  Relay relay_;
  EarlySignals early_;
  Ending ending_;
  Guests guests_;
  node::Segment segment_;  ///< where guests need it: once all ranks are in MPI
  GuestTrials trials_;
  GuestFreeze freeze_;
  Timer time_limit_;
  ControlChannel channel_;
  int running_ = 0;               ///< started processes that have not ended
  int inside_ = 0;                ///< ranks that have called MPI_Init
  bool asked_launcher_ = false;   ///< to end the job
  int silent_ = -1;               ///< a rank that ended without ever calling MPI_Init …
  std::string silent_elsewhere_;  ///< … or one on another node, and what came before its status
  int silent_status_ = 0;

  OtherNodes others_;
  std::vector<std::unique_ptr<Spawn>> member_spawns_;  ///< read by the children as they start
  std::vector<OtherNodes::News> reports_;              ///< of other nodes, until ours is made
  Timer members_late_;
  pid_t input_process_ = -1;      ///< passes standard input on to who starts a member
  int unreachable_ = -1;          ///< a rank here that another one does not reach …
  std::string unreachable_from_;  ///< … which one, and why
  Timer unreachable_look_;
  bool told_addresses_ = false;
  bool told_end_ = false;
  std::vector<int> held_signals_;  ///< for members that were not there when they came

  bool stopped_ = false;              ///< by SIGTSTP, until SIGCONT
  bool died_late_ = false;            ///< a signal has killed a rank after MPI_Finalize
  bool clearing_up_ = false;          ///< the ranks are through, what they left is being ended
  bool waiting_for_readers_ = false;  ///< all processes are gone, labelled output is not
  bool output_done_ = false;
  bool may_leave_ = false;  ///< tasks that are through MPI_Finalize
  bool reported_ = false;

  const std::uint64_t out_of_memory_kills_ = machine::out_of_memory_kills();  ///< before the job

  double began_ = 0;                            ///< when the first rank was started
  double ended_ = 0;                            ///< when the last one ended, if there are guests
  std::optional<double> busy_at_start_;         ///< CPU seconds of all on the job's CPUs
  std::optional<machine::EnergyMeter> energy_;  ///< if a report is wanted
  Timer energy_look_;
  Timer library_look_;

  wait::OverNodes over_nodes_;  ///< of those that mpiexec plays, or the hub's, by member
  std::vector<std::optional<wait::NodeState>> last_states_;  ///< of members that are over
  std::vector<std::string> lists_;  ///< of members, once there is a deadlock
  Timer list_limit_;
  bool told_of_deadlock_ = false;
  Timer still_look_;

  int events_ = -1;
  int signals_ = -1;
};

}  // namespace meantime::launch
