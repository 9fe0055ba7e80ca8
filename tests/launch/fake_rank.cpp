// A rank without MPI: does what its arguments say, one after the other. It speaks to mpiexec with
// the library's own client, so that mpiexec can be tested without the library.
//   init  finalize  abort=CODE[:TEXT]  deadlock=TEXT  exit=CODE  signal=N  sleep=SECONDS  compute
//   other-version  no-lifeline-init  block=SIGNAL  unblock=SIGNAL  handle=SIGNAL  stop  fork daemon
//   await (one more handled signal)  only=RANK (what follows is for that rank alone)  print=TEXT
//   wait-forever  garbage=TEXT
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "base/version.h"
#include "node/control_client.h"
#include "protocol/control.h"

namespace {

int number_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? -1 : std::atoi(text);
}

volatile std::sig_atomic_t signals_got = 0;

void on_signal(int signal) {
  signals_got = signals_got + 1;
  char text[] = "got signal 00\n";
  text[11] = static_cast<char>('0' + signal / 10);
  text[12] = static_cast<char>('0' + signal % 10);
  (void)!write(STDOUT_FILENO, text, sizeof text - 1);
}

void sleep_seconds(double seconds) {
  // Signals do not shorten it.
  timespec left{
      static_cast<time_t>(seconds),
      static_cast<long>((seconds - static_cast<double>(static_cast<time_t>(seconds))) * 1e9)};
  while (nanosleep(&left, &left) != 0) {
  }
}

}  // namespace

int main(int count, char** words) {
  namespace launch = meantime::launch;
  int rank = number_of(launch::rank_variable);
  meantime::node::ControlClient client;
  bool mine = true;
  for (int i = 1; i < count; ++i) {
    std::string_view word(words[i]);
    std::string_view name = word.substr(0, word.find('='));
    std::string value(word.size() > name.size() ? word.substr(name.size() + 1) : "");
    int number = std::atoi(value.c_str());
    if (name == "only") {
      mine = rank == number;
    } else if (name == "all") {
      mine = true;
    } else if (!mine) {
      continue;
    } else if (name == "init" || name == "no-lifeline-init" || name == "other-version") {
      client = {number_of(launch::control_variable), rank};
      if (name == "init" && meantime::node::hold_lifeline(number_of(launch::lifeline_variable)) !=
                                meantime::node::Lifeline::held) {
        std::puts("no lifeline");
        return 99;
      }
      if (!client.hello(name == "other-version" ? "0.0.0" : meantime::version)) {
        std::puts("no control socket");
        return 98;
      }
    } else if (name == "finalize") {
      client.finalized();
    } else if (name == "abort") {
      std::size_t colon = value.find(':');
      client.abort(number, colon == std::string::npos ? "" : value.substr(colon + 1));
      sleep_seconds(30);
    } else if (name == "deadlock") {
      client.deadlock(value);
    } else if (name == "garbage") {
      send(number_of(launch::control_variable), value.data(), value.size(), 0);
    } else if (name == "exit") {
      std::exit(number);
    } else if (name == "signal") {
      std::fflush(stdout);
      raise(number);
    } else if (name == "sleep") {
      sleep_seconds(std::atof(value.c_str()));
    } else if (name == "compute") {
      for (;;) {
        asm volatile("");
      }
    } else if (name == "block" || name == "unblock") {
      sigset_t set;
      sigemptyset(&set);
      sigaddset(&set, number);
      sigprocmask(name == "block" ? SIG_BLOCK : SIG_UNBLOCK, &set, nullptr);
    } else if (name == "handle") {
      struct sigaction action {};
      action.sa_handler = on_signal;
      sigaction(number, &action, nullptr);
    } else if (name == "await") {
      static int awaited = 0;
      ++awaited;
      for (int i = 0; signals_got < awaited && i < 3000; ++i) {
        sleep_seconds(0.01);
      }
    } else if (name == "stop") {
      raise(SIGSTOP);
    } else if (name == "fork") {
      if (fork() == 0) {
        sleep_seconds(30);
        std::exit(0);
      }
    } else if (name == "daemon") {
      if (fork() == 0) {
        setsid();
        if (fork() != 0) {
          std::_Exit(0);
        }
        sleep_seconds(30);
        std::exit(0);
      }
    } else if (name == "thread") {
      std::thread([] { sleep_seconds(30); }).detach();
    } else if (name == "print") {
      std::printf("%s\n", value.c_str());
      std::fflush(stdout);
    } else {
      std::printf("fake_rank: unknown word %s\n", words[i]);
      return 97;
    }
  }
  return 0;
}
