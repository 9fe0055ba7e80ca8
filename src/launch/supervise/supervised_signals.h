// The signals between mpiexec's two processes: the front gets them, the supervisor hears of them.
#pragma once

#include <csignal>

namespace meantime::launch {

/// What mpiexec passes on to the ranks or acts on.
sigset_t supervised_signals();

/// The signal by which the kernel tells the supervisor that mpiexec itself was killed: one that a
/// supervisor hears of that was stopped. Others may send it, so the parent is looked at, too.
int front_is_gone_signal();

/// The signal that carries all that mpiexec passes to the supervisor, with a `Relayed` as its
/// value. Not the signals themselves: SIGCONT would wipe out a SIGTSTP that the supervisor has not
/// read yet, and the ranks would never hear of it.
///
/// The other way round it is the question whether there is something still to be passed on, and the
/// front sends `told_all`. By then it has told of every signal that it had got when it was asked:
/// of those that are pending, sigwaitinfo(2) takes the lowest first, and this one is the highest.
int relayed_signal();

struct Relayed {
  int signal;
  bool ranks_have_it;  ///< the terminal, or a signal to the group, has given it to them already
};
inline constexpr Relayed told_all{0, false};
int value_of(Relayed relayed);
Relayed relayed_from(int value);

}  // namespace meantime::launch
