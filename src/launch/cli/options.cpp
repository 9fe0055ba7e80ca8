#include "launch/cli/options.h"

#include "settings/misspelt.h"
#include "settings/shown.h"

namespace meantime::launch {

namespace {

constexpr std::string_view no_mapping = "ranks run where --bind puts them, without it on any CPU";
constexpr std::string_view no_slots = "there are no slots: ranks may always exceed cores";
constexpr std::string_view no_components = "tunes a component of the other MPI";
constexpr std::string_view name_hosts = "--host names the machines; leave it out";
constexpr std::string_view same_files = "each host has programs and files at the same place";

// clang-format off
constexpr std::string_view own_files = "use --output-filename DIRECTORY (DIRECTORY/1/rank.N/stdout, stderr)";
constexpr std::string_view own_start = "mpiexec is started on each host in one way (MEANTIME_REMOTE_SHELL)";

constexpr Option options[] = {
    // Ours, and the names that all launchers share.
    {"n", 1, Action::ranks, "", true},
    {"np", 1, Action::ranks, "", true},
    {"c", 1, Action::ranks, "", true},
    {"x", 1, Action::export_variable, "", true},
    {"genv", 2, Action::set_for_all, "", true},
    {"env", 2, Action::set_for_program, "", true},
    {"genvall", 0, Action::keep_all, "", true},
    {"genvnone", 0, Action::keep_none, "", true},
    {"genvlist", 1, Action::keep_list, "", true},
    {"wdir", 1, Action::directory, "", true},
    {"wd", 1, Action::directory, "", true},
    {"initial-errhandler", 1, Action::initial_errhandler, "", true},
    {"memory-alloc-kinds", 1, Action::memory_kinds, "", true},
    {"l", 0, Action::label, "", true},
    {"output-filename", 1, Action::output_files, "", true},
    {"timeout", 1, Action::timeout, "", true},
    {"bind", 1, Action::bind, "", true},
    {"as", 1, Action::kind, "", true},
    {"place", 1, Action::place, "", true},
    {"ranks-per-process", 1, Action::ranks_per_process, "", true},
    {"balance", 1, Action::balance, "", true},
    {"wait", 1, Action::wait, "", true},
    {"guest", 1, Action::guest, "", true},
    {"max-overhead", 1, Action::max_overhead, "", true},
    {"guest-freeze", 0, Action::guest_freeze, "", true},
    {"report", 0, Action::ledger_report, "", true},
    {"on-deadlock", 1, Action::on_deadlock, "", true},
    {"debugger", 1, Action::debugger, "", true},
    {"stdin", 1, Action::standard_input, "", true},
    {"v", 0, Action::verbose, "", true},
    {"verbose", 0, Action::verbose, "", true},
    {"help", 0, Action::help, "", true},
    {"h", 0, Action::help, "", true},
    {"version", 0, Action::version, "", true},
    {"V", 0, Action::version, "", true},

    // Theirs, with the same meaning here.
    {"?", 0, Action::help, ""},
    {"info", 0, Action::version, ""},
    {"envall", 0, Action::keep_all, ""},
    {"envnone", 0, Action::keep_none, ""},
    {"envlist", 1, Action::keep_list, ""},
    {"genvexcl", 1, Action::drop, ""},
    {"unset-env", 1, Action::drop, ""},
    {"set-cwd-to-session-dir", 0, Action::refuse, "use -wdir DIRECTORY"},
    {"prepend-rank", 0, Action::label, ""},
    {"tag-output", 0, Action::label, ""},
    {"prefix-output", 0, Action::label, ""},
    {"timestamp-output", 0, Action::time_lines, ""},
    {"merge-stderr-to-stdout", 0, Action::merge_output, ""},
    {"output", 1, Action::output, ""},
    {"bind-to", 1, Action::bind, ""},
    {"binding", 1, Action::bind, ""},
    {"bind-to-core", 0, Action::bind, "core"},
    {"bind-to-socket", 0, Action::bind, "socket"},
    {"bind-to-none", 0, Action::bind, "none"},
    {"report-bindings", 0, Action::report_bindings, ""},
    {"gdb", 0, Action::debugger, "gdb"},
    {"s", 1, Action::standard_input, ""},

    // The hosts; if all are this machine it needs no shell.
    {"H", 1, Action::hosts, ""},
    {"host", 1, Action::hosts, "", true},
    {"hosts", 1, Action::hosts, ""},
    {"hostlist", 1, Action::hosts, ""},
    {"hostfile", 1, Action::host_file, "", true},
    {"machinefile", 1, Action::host_file, ""},
    {"default-hostfile", 1, Action::host_file, ""},
    {"f", 1, Action::host_file, ""},

    // Open MPI's, harmless here.
    {"oversubscribe", 0, Action::ignore, no_slots},
    {"nooversubscribe", 0, Action::ignore, no_slots},
    {"use-hwthread-cpus", 0, Action::ignore, no_slots},
    {"allow-run-as-root", 0, Action::ignore, "root may always run jobs"},
    {"map-by", 1, Action::map_by, "only its PE=N and ppr:N:RESOURCE count, if it has them; hosts get ranks in blocks"},
    {"rank-by", 1, Action::ignore, "ranks are numbered in the order of the command line"},
    {"bynode", 0, Action::ignore, no_mapping},
    {"byslot", 0, Action::ignore, no_mapping},
    {"bycore", 0, Action::ignore, no_mapping},
    {"bysocket", 0, Action::ignore, no_mapping},
    {"nolocal", 0, Action::refuse, name_hosts},
    {"N", 1, Action::ranks_per_node, ""},
    {"npernode", 1, Action::ranks_per_node, ""},
    {"pernode", 0, Action::ranks_per_node, "1"},
    {"npersocket", 1, Action::ranks_per_socket, ""},
    {"cpus-per-proc", 1, Action::cpus_per_rank, ""},
    {"cpus-per-rank", 1, Action::cpus_per_rank, ""},
    {"cpu-set", 1, Action::refuse, "use taskset -c CPUS mpiexec ..."},
    {"cpu-list", 1, Action::refuse, "use taskset -c CPUS mpiexec ..."},
    {"rankfile", 1, Action::refuse, "use --bind user:LIST"},
    {"rf", 1, Action::refuse, "use --bind user:LIST"},
    {"display-map", 0, Action::report_bindings, ""},
    {"display-allocation", 0, Action::ignore, "-v shows the ranks"},
    {"display", 1, Action::display, "-v shows the ranks"},
    {"mca", 2, Action::ignore, no_components},
    {"gmca", 2, Action::ignore, no_components},
    {"omca", 2, Action::ignore, no_components},
    {"prtemca", 2, Action::ignore, no_components},
    {"pmixmca", 2, Action::ignore, no_components},
    {"am", 1, Action::ignore, no_components},
    {"tune", 1, Action::ignore, no_components},
    {"prefix", 1, Action::ignore, "programs find the library by their run path"},
    {"noprefix", 0, Action::ignore, "programs find the library by their run path"},
    {"quiet", 0, Action::quiet, ""},
    {"q", 0, Action::quiet, ""},
    {"stream-buffering", 1, Action::ignore, "ranks write straight to mpiexec's output, line by line"},
    {"xml", 0, Action::refuse, "use -l for labels"},
    {"xterm", 1, Action::refuse, "use --debugger gdb, or mpiexec ... xterm -e ./program", false, "use --debugger gdb"},
    {"preload-binary", 0, Action::ignore, same_files},
    {"preload-files", 1, Action::ignore, same_files},
    {"path", 1, Action::refuse, "use -x PATH=VALUE"},
    {"app", 1, Action::refuse, "separate the programs by ':'"},
    {"configfile", 1, Action::refuse, "separate the programs by ':'"},
    {"continuous", 0, Action::refuse, "the end of a rank without MPI_Finalize ends the job"},
    {"enable-recovery", 0, Action::refuse, "the end of a rank without MPI_Finalize ends the job"},
    {"disable-recovery", 0, Action::ignore, "that is how it is"},
    {"with-ft", 1, Action::refuse, "the end of a rank without MPI_Finalize ends the job"},
    {"max-restarts", 1, Action::refuse, "the end of a rank without MPI_Finalize ends the job"},
    {"report-state-on-timeout", 0, Action::ignore, "--timeout always shows what each rank does"},
    {"get-stack-traces", 0, Action::ignore, "--timeout always shows what each rank does"},
    {"report-pid", 1, Action::refuse, "use -v"},
    {"report-uri", 1, Action::refuse, "use -v"},
    {"tv", 0, Action::refuse, "use --debugger gdb"},
    {"debug", 0, Action::refuse, "use --debugger gdb"},
    {"do-not-launch", 0, Action::refuse, "use --help"},
    {"novm", 0, Action::ignore, own_start},
    {"tmpdir", 1, Action::ignore, "no temporary files are made"},
    {"personality", 1, Action::ignore, "there is only ours"},
    {"debug-daemons", 0, Action::ignore, "there are no daemons"},
    {"debug-daemons-file", 0, Action::ignore, "there are no daemons"},
    {"leave-session-attached", 0, Action::ignore, "there are no daemons"},
    {"launch-agent", 1, Action::ignore, own_start},
    {"max-vm-size", 1, Action::ignore, own_start},
    {"do-not-resolve", 0, Action::ignore, own_start},
    {"fwd-mpirun-port", 0, Action::ignore, own_start},
    {"use-regexp", 0, Action::ignore, own_start},
    {"enable-instant-on-support", 0, Action::ignore, own_start},
    {"show-progress", 0, Action::ignore, "-v shows the ranks"},
    {"display-devel-map", 0, Action::ignore, "-v shows the ranks"},
    {"display-devel-allocation", 0, Action::ignore, "-v shows the ranks"},
    {"display-diffable-map", 0, Action::ignore, "-v shows the ranks"},
    {"display-topo", 0, Action::ignore, "lstopo shows it"},
    {"cf", 1, Action::ignore, no_mapping},
    {"cartofile", 1, Action::ignore, no_mapping},
    {"ppr", 1, Action::ranks_per_resource, ""},
    {"d", 0, Action::refuse, "use -v, or --debugger gdb"},
    {"debug-devel", 0, Action::refuse, "use -v"},
    {"index-argv-by-rank", 0, Action::refuse, "MEANTIME_RANK tells a program its rank"},
    {"dvm", 0, Action::refuse, "every mpiexec is complete in itself"},
    {"hnp", 1, Action::refuse, "every mpiexec is complete in itself"},
    {"ompi-server", 1, Action::refuse, "MPI_Publish_name is not there yet"},
    {"output-proctable", 0, Action::refuse, "use -v"},
    {"report-events", 1, Action::refuse, "use -v"},
    {"report-child-jobs-separately", 0, Action::ignore, "MPI_Comm_spawn is not there yet"},
    {"xml-file", 1, Action::refuse, "use -l for labels"},
    {"runtime-options", 1, Action::ignore, no_components},

    // Hydra's, harmless here.
    {"ppn", 1, Action::ranks_per_node, ""},
    {"perhost", 1, Action::ranks_per_node, ""},
    {"grr", 1, Action::ignore, no_mapping},
    {"rr", 0, Action::ignore, no_mapping},
    {"membind", 1, Action::ignore, "memory is placed where it is first touched"},
    {"hybrid", 1, Action::ignore, no_mapping},
    {"topolib", 1, Action::ignore, no_mapping},
    {"skip-launch-node", 1, Action::ignore, own_start},
    {"launcher", 1, Action::ignore, own_start},
    {"launcher-exec", 1, Action::remote_shell, ""},
    {"bootstrap", 1, Action::ignore, own_start},
    {"bootstrap-exec", 1, Action::remote_shell, ""},
    {"rmk", 1, Action::ignore, own_start},
    {"iface", 1, Action::ignore, "UCX_NET_DEVICES names the network"},
    {"enable-x", 0, Action::ignore, "the ranks have mpiexec's environment"},
    {"disable-x", 0, Action::ignore, "use -x DISPLAY= to empty it"},
    {"disable-auto-cleanup", 0, Action::refuse, "the end of a rank without MPI_Finalize ends the job"},
    {"disable-hostname-propagation", 0, Action::ignore, own_start},
    {"localhost", 1, Action::ignore, own_start},
    {"order-nodes", 1, Action::ignore, own_start},
    {"usize", 1, Action::ignore, "MPI_Comm_spawn is not there yet"},
    {"print-all-exitcodes", 0, Action::ignore, "the line about a failed rank has its status"},
    {"print-rank-map", 0, Action::ignore, "-v shows the ranks"},
    {"pmi-port", 0, Action::ignore, "ranks find each other without PMI"},
    {"rankmap", 1, Action::refuse, "use --bind core"},
    {"hybrid-hosts", 0, Action::ignore, own_start},
    {"gpus-per-proc", 1, Action::refuse, "use CUDA_VISIBLE_DEVICES, from MEANTIME_RANK in a script"},
    {"nameserver", 1, Action::refuse, "MPI_Publish_name is not there yet"},
    {"demux", 1, Action::ignore, no_components},
    {"profile", 0, Action::refuse, "use perf record mpiexec ..."},
    {"outfile-pattern", 1, Action::refuse, own_files},
    {"errfile-pattern", 1, Action::refuse, own_files},
    {"prepend-pattern", 1, Action::refuse, "use -l"},
    {"ckpoint-interval", 1, Action::refuse, "there are no checkpoints"},
    {"ckpoint-prefix", 1, Action::refuse, "there are no checkpoints"},
    {"ckpointlib", 1, Action::refuse, "there are no checkpoints"},
    {"arch", 1, Action::refuse, name_hosts},
    {"soft", 1, Action::refuse, "use -n NUMBER"},
    {"path-prefix", 1, Action::refuse, "use -x PATH=VALUE"},
};
// clang-format on

}  // namespace

std::span<const Option> all_options() {
  return options;
}

const Option* find_option(std::string_view name) {
  for (const Option& option : options) {
    if (option.name == name) {
      return &option;
    }
  }
  return nullptr;
}

std::string nearest_option(std::string_view name) {
  if (name.size() > settings::longest_shown) {
    return {};  // no typing error, and the comparison would take long
  }
  const Option* best = nullptr;
  // One to three slips are a typing error, the more the longer the name.
  std::size_t best_distance = name.size() <= 3 ? 2 : name.size() <= 8 ? 3 : 4;
  for (const Option& option : options) {
    if (option.name.size() < 2 || option.action == Action::refuse) {
      continue;
    }
    std::size_t here = settings::slips(name, option.name);
    if (here < best_distance || (best && here == best_distance && option.own && !best->own)) {
      best = &option;
      best_distance = here;
    }
  }
  if (best == nullptr && name.size() >= 4) {  // the beginning of one
    for (const Option& option : options) {
      if (option.name.starts_with(name) && option.action != Action::refuse) {
        best = &option;
        break;
      }
    }
  }
  if (best == nullptr) {
    return {};
  }
  bool one_dash = best->name == "np" || best->name == "genv" || best->name == "genvall" ||
                  best->name == "wdir" || best->name == "wd" || best->name == "env";
  return std::string(one_dash ? "-" : "--") + std::string(best->name);
}

std::string help_text() {
  return R"(Usage: mpiexec [options] program [arguments] [: [options] program
       [arguments]]...

Starts a job of MPI ranks, on this machine or on others, and stays until it
ends.

How many ranks of what
  -n N, -np N, -c N       N ranks of the program that follows (default 1)
  :                       another program of the same job
  --host A:4,B:4, --hosts, -H
                          4 ranks on machine A and 4 on B, by ssh
  --hostfile FILE         the same, a line each: "A slots=4"
  -wdir DIR, -wd DIR      the program's working directory
  -initial-errhandler mpi_errors_are_fatal|mpi_errors_abort|mpi_errors_return
                          what an error does until the program says (default
                          mpi_errors_are_fatal)
  -memory-alloc-kinds A,B
                          the kinds of memory that the program gives MPI, as it
                          may ask for them
  --as processes|threads|auto
                          every rank a process (default), or all of them
                          user-level threads of one process; auto: as threads if
                          `meantime check program` finds that they can; for this
                          program and those that follow it, until another --as
  --ranks-per-process K   thread ranks: at most K in one process (default: as
                          many as the system's limit of memory maps allows)
  --place block|round-robin|file:PATH
                          thread ranks: neighbours on one worker (default), or
                          dealt out in turn, or by a file with the number of a
                          worker for each rank, one a line
  --balance steal|none    thread ranks: an idle worker takes a rank from the one
                          that has most (default), or each rank stays where it
                          began

Environment
  -x NAME[=VALUE]         set NAME for all ranks (they have mpiexec's
                          environment anyway)
  -genv NAME VALUE, -genv NAME=VALUE
                          the same
  -env NAME VALUE         set NAME for the program that follows
  -genvall, -genvnone, -genvlist A,B
                          start from all (default), none or some of mpiexec's
                          environment

Input and output (by default ranks write straight to mpiexec's standard output
and error)
  -l                      put [rank] before each line
  --output-filename DIR   what rank N writes goes also into DIR/1/rank.N/stdout
                          and stderr (DIR:nocopy: only there)
  --stdin RANK|none       the rank that reads mpiexec's standard input (default
                          0)
  -v                      say what is started and which options were ignored

How ranks wait (guide/waiting.md; `meantime config` shows all settings and who
made them)
  --wait adaptive|poll|yield|event|predicted|ade|overprovisioned
                          the same as -x MEANTIME_WAIT=... (default adaptive)

Guest work (guide/guests.md)
  --guest proc:COMMAND|func:LIBRARY|queue:FOLDER|aes|primes|stream
                          runs the command, those of a folder, or a ready guest,
                          beside the ranks, once for each CPU, on what they
                          leave of it; or calls a library's function
  --max-overhead PERCENT  what guests may cost: the job is compared with itself
                          without them, and where it is more they are stopped
  --guest-freeze          stops guests while no rank waits

Where the time went
  --report                at the end: how long each rank ran and waited, where
                          and how
  --report=FILE           the same as JSON, into a file; with --report as well:
                          both

When it waits too long
  --timeout SECONDS       show what each rank does, then end the job (status
                          124)
  --on-deadlock=abort|report|ignore
                          when every rank waits for ever (default abort, status
                          125)
  kill -QUIT, Ctrl-\      show what each rank does; the job goes on

Where it runs
  --bind none|hwthread|core|numa|socket|user:LIST
                          pin rank r to CPU (core, ...) r modulo their number
                          (default none), or to that element of a list:
                          user:0+1,2 gives rank 0 two CPUs, rank 1 one
  --cpus-per-rank N       N cores (--bind hwthread: CPUs) for each rank
  --report-bindings       say on which CPUs each rank may run

Other
  --debugger gdb          run the ranks under gdb
  --help, -h, --version, -V

Documents are in share/doc/meantime/docs where Meantime is installed;
reference/mpiexec.md is about mpiexec.

The usual options of Open MPI's and MPICH's launchers are understood, ignored
(-v says so) or refused by name. Exit status: 0 if all ranks ended with 0; else
the first that was not, 128 + N for a rank killed by signal N, MPI_Abort's code,
an error's class (MPI_ERR_RANK: 6) where its handler ends the job, 124 after
--timeout, 125 after a deadlock, 126 and 127 for a program that cannot be run or
found, 2 for a wrong command line, 1 for a job that is refused or cannot be
started.
)";
}

}  // namespace meantime::launch
