// What a program may not import if its ranks are to be threads of one process: it belongs to the
// process, so one rank would change it for all of them. A row leaves this list together with a test
// that it is each rank's own (src/host/interpose). tests/threads/test_refusals.py goes through
// it, docs/guide/thread-ranks.md shows it.
#pragma once

#include <string_view>

namespace meantime::launch {

struct Denied {
  std::string_view names;  ///< with spaces between
  std::string_view reason;
  std::string_view remedy;
};

inline constexpr Denied denied_imports[] = {
    {"fork vfork _Fork clone daemon forkpty",
     "a child would be a copy of all ranks with one of them running", "use posix_spawn or system"},
    {"execl execle execlp execv execve execveat execvp execvpe fexecve",
     "it would replace all ranks", "use posix_spawn or system"},
    {"signal sigaction bsd_signal sysv_signal __sysv_signal sigset siginterrupt sigignore "
     "signalfd sigwait sigwaitinfo sigtimedwait sigsuspend sigpause sigprocmask pthread_sigmask "
     "sigaltstack sigblock "
     "sigsetmask siggetmask sighold sigrelse ssignal",
     "signals and their handlers belong to the process", "leave the handler out"},
    {"setitimer alarm ualarm timer_create timer_settime", "timers signal the process",
     "use a clock between calls"},
    {"chroot", "the root directory is the process's", "start mpiexec in it"},
    {"lockf lockf64", "record locks belong to the process", "use fcntl or flock"},
    {"setrlimit setrlimit64 prlimit prlimit64", "limits are the process's",
     "set them before the start (ulimit)"},
    {"setuid seteuid setreuid setresuid setgid setegid setregid setresgid setgroups setsid setpgid "
     "setpgrp setfsuid setfsgid initgroups capset",
     "identities and groups are the process's", "set them before the start"},
    {"sched_setaffinity pthread_setaffinity_np pthread_attr_setaffinity_np sched_setscheduler "
     "sched_setparam pthread_setschedparam pthread_setschedprio setpriority nice prctl unshare "
     "setns "
     "personality ptrace",
     "the kernel thread runs other ranks too", "leave it to mpiexec"},
    {"dlopen dlmopen", "what is loaded later would be one for all ranks",
     "link the library, or use process ranks"},
    {"hcreate hsearch hdestroy", "there is one table in the process", "use hcreate_r and its kin"},
    {"mcheck mtrace mallopt", "the allocator is the process's", "leave it out"},
    {"wordexp", "it goes by the variables of the process", "use glob and getenv"},
    {"argp_parse argp_help argp_state_help argp_usage argp_error argp_failure",
     "it writes to the streams of the process and ends it", "use getopt_long"},
    {"getpass", "it asks the process's terminal, for all ranks", "let rank 0 read it from a file"},
    {"getpwent getpwent_r setpwent endpwent getgrent getgrent_r setgrent endgrent getspent "
     "setspent "
     "endspent gethostent gethostent_r sethostent endhostent getnetent setnetent endnetent "
     "getprotoent setprotoent endprotoent getservent setservent endservent getnetgrent setnetgrent "
     "endnetgrent getusershell setusershell endusershell getfsent setfsent endfsent getttyent "
     "setttyent endttyent getutent setutent endutent getutxent setutxent endutxent getutid "
     "getutline "
     "getutxid getutxline pututline pututxline",
     "the place in the list is the process's", "look up one by its name (getpwnam)"},
    {"openlog closelog setlogmask", "the log's name and mask are the process's",
     "use syslog alone"},
    {"re_comp re_exec re_set_syntax", "there is one pattern in the process", "use regcomp"},
    {"getdate", "it goes by the variables of the process", "use strptime"},
    {"fmtmsg addseverity", "it writes to the process's standard error", "use fprintf"},
    {"fcloseall", "it closes the streams of all ranks", "use fclose"},
    {"_gfortran_signal_func _gfortran_signal_func_int _gfortran_signal_sub "
     "_gfortran_signal_sub_int",
     "signals and their handlers belong to the process", "leave call signal out"},
    {"_gfortran_alarm_sub_i4 _gfortran_alarm_sub_i8 _gfortran_alarm_sub_int_i4 "
     "_gfortran_alarm_sub_int_i8",
     "timers signal the process", "leave call alarm out"},
};

/// What neither the program nor a library of its own may define, because libc would go on with its
/// own.
inline constexpr Denied denied_definitions[] = {
    {"malloc calloc realloc free",
     "an allocator of its own would free what libc's has given, and libc and MPI have only one",
     "link it without"},
};

/// Variables of libc that it reads, writes and shows to programs.
inline constexpr Denied denied_data[] = {
    {"obstack_alloc_failed_handler obstack_exit_failure error_print_progname error_message_count "
     "error_one_per_line argp_program_version argp_program_version_hook argp_program_bug_address "
     "argp_err_exit_status getdate_err re_syntax_options re_max_failures rpc_createerr svc_fdset "
     "svc_max_pollfd svc_pollfd",
     "this variable of libc is the process's", "leave it out"},
};

/// Libraries (beginnings of their names) that mean the same.
inline constexpr Denied denied_libraries[] = {
    {"libcuda.so libcudart.so libnvidia-ml.so", "the CUDA run time is the process's", ""},
    {"libamdhip64.so libhsa-runtime64.so", "the HIP run time is the process's", ""},
    {"libpython", "the interpreter loads its modules later, and they would be one for all ranks",
     ""},
    {"libjvm.so", "a Java machine is the process's", ""},
};

/// Those of instruments; another build is without.
inline constexpr Denied denied_instrument_libraries[] = {
    {"libasan.so libtsan.so liblsan.so libubsan.so libhwasan.so",
     "sanitizers watch a process, not a rank", "build without -fsanitize"},
};

/// Beginnings of symbols, defined or imported, that a build with such an instrument has; another
/// build is without.
inline constexpr Denied denied_instruments[] = {
    {"__asan_init __tsan_init __msan_init __hwasan_init __ubsan_handle",
     "it is built with a sanitizer, which watches a process and not a rank",
     "build without -fsanitize"},
    {"__gcov_ __llvm_profile_", "it is built to count its coverage, for a process",
     "build without --coverage and -fprofile-generate"},
    {"__monstartup mcount __fentry__", "it is built to be profiled (gprof), as a process",
     "build without -pg"},
    {"__morestack", "its stack is in pieces, by words of the kernel thread",
     "build without -fsplit-stack"},
};

/// Allowed, but the answer is the host's: named by `meantime check`.
inline constexpr Denied shared_answers[] = {
    {"getpid", "is the same in all ranks", ""},
    {"getrusage times clock", "counts the processor time of all ranks", ""},
    {"gettid", "is the number of whatever kernel thread runs the rank just now", ""},
    {"sbrk mallinfo mallinfo2 malloc_stats malloc_info malloc_trim",
     "is about the memory of all ranks", ""},
    {"textdomain bindtextdomain", "is the same in all ranks", ""},
};

}  // namespace meantime::launch
