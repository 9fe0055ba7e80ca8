#include "launch/supervise/label.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/clock.h"
#include "launch/messages.h"
#include "settings/shown.h"

namespace meantime::launch {

namespace {

/// A line that does not end (a prompt, progress dots) is shown after this long.
constexpr long patience_ms = 100;
/// A longer line is passed on in pieces.
constexpr std::size_t longest_line = 64 * 1024;

long now_ms() {
  return static_cast<long>(now_ns() / 1'000'000);
}

/// "2026-11-26 19:55:07.123"
std::string time_of_day() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  localtime_r(&now.tv_sec, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03}", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     now.tv_nsec / 1'000'000);
}

}  // namespace

Labeler::~Labeler() {
  finish();
  if (done_ >= 0) {
    close(done_);
  }
}

Labeler::Ends Labeler::add_rank(int rank) {
  Ends ends;
  ends.problem = add_stream(rank, STDOUT_FILENO, "stdout", ends.output);
  if (ends.problem.empty() && output_.merged) {
    ends.error = fcntl(ends.output, F_DUPFD_CLOEXEC, 0);
    ends.problem = ends.error < 0 ? std::strerror(errno) : "";
  } else if (ends.problem.empty()) {
    ends.problem = add_stream(rank, STDERR_FILENO, "stderr", ends.error);
  }
  if (!ends.problem.empty() && ends.output >= 0) {
    close(ends.output);
    ends.output = -1;
  }
  return ends;
}

// Files are where Open MPI has them: the number of the job, 1, and ranks as wide as the last one.
std::string Labeler::add_stream(int rank, int sink, const char* file, int& write_end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return fmt::format("pipes for its output: {}", std::strerror(errno));
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  Stream& stream = streams_.emplace_back();
  stream.source = ends[0];
  stream.sink = sink;
  stream.rank = rank;
  if (!output_.folder.empty()) {
    const std::size_t width = fmt::to_string(ranks_ - 1).size();
    const std::filesystem::path folder =
        std::filesystem::path(output_.folder) / "1" / fmt::format("rank.{:0{}}", rank, width);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    stream.file = open((folder / file).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (stream.file < 0) {
      const int why = error ? error.value() : errno;
      close(ends[1]);
      return fmt::format("{}: {}", settings::shown_path((folder / file).string()),
                         std::strerror(why));
    }
  }
  write_end = ends[1];
  return {};
}

void Labeler::start() {
  struct stat output {
  }, error{};
  same_sink_ = fstat(STDOUT_FILENO, &output) == 0 && fstat(STDERR_FILENO, &error) == 0 &&
               output.st_dev == error.st_dev && output.st_ino == error.st_ino;
  done_ = eventfd(0, EFD_CLOEXEC);
  sigset_t alarm;  // is for the main thread (messages.cpp)
  sigset_t old_mask;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm, &old_mask);
  thread_ = std::thread([this] {
    forward();
    eventfd_write(done_, 1);
  });
  pthread_sigmask(SIG_SETMASK, &old_mask, nullptr);
}

int Labeler::finish() {
  if (thread_.joinable()) {
    thread_.join();
  }
  return lost_;
}

Labeler::Stream*& Labeler::open_line(const Stream& stream) {
  return same_sink_ || stream.sink == STDOUT_FILENO ? open_output_ : open_error_;
}

void Labeler::forward() {
  std::vector<pollfd> polled;
  std::vector<Stream*> sources;
  for (;;) {
    polled.clear();
    sources.clear();
    long now = now_ms();
    long wait = -1;
    for (Stream& stream : streams_) {
      if (stream.source < 0) {
        continue;
      }
      polled.push_back({stream.source, POLLIN, 0});
      sources.push_back(&stream);
      if (!stream.pending.empty()) {
        long left = std::max(0L, stream.oldest_ms + patience_ms - now);
        wait = wait < 0 ? left : std::min(wait, left);
      }
    }
    if (polled.empty()) {
      return;
    }
    poll(polled.data(), polled.size(), static_cast<int>(wait));
    for (std::size_t i = 0; i < polled.size(); ++i) {
      Stream& stream = *sources[i];
      bool ended = polled[i].revents != 0 && !read_from(stream);
      bool waited_long = !stream.pending.empty() && now_ms() - stream.oldest_ms >= patience_ms;
      pass_on(stream, ended || waited_long);
      if (ended || stream.reader_gone) {
        close(stream.source);
        stream.source = -1;
        close_file(stream);
      }
    }
  }
}

// False at the end of the stream.
bool Labeler::read_from(Stream& stream) {
  char bytes[64 * 1024];
  ssize_t count = read(stream.source, bytes, sizeof bytes);
  if (count > 0 && stream.file >= 0 &&
      !write_all(stream.file, {bytes, static_cast<std::size_t>(count)})) {
    lost_ = errno;
    close_file(stream);
  }
  if (count > 0 && output_.shown) {
    if (stream.pending.empty()) {
      stream.oldest_ms = now_ms();
    }
    stream.pending.append(bytes, static_cast<std::size_t>(count));
  }
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

void Labeler::close_file(Stream& stream) {
  if (stream.file >= 0 && close(stream.file) != 0 && errno != EINTR) {
    lost_ = errno;  // some file systems say only now that there is no room
  }
  stream.file = -1;
}

void Labeler::pass_on(Stream& stream, bool partial_too) {
  std::size_t end = stream.pending.rfind('\n');
  std::size_t ready = end == std::string::npos ? 0 : end + 1;
  if (partial_too || stream.pending.size() - ready > longest_line) {
    ready = stream.pending.size();
  }
  if (ready == 0) {
    return;
  }
  std::string text;
  Stream*& last = open_line(stream);
  if (last != nullptr && last != &stream) {
    text += '\n';  // another rank's line was shown without its end; it goes on with a label later
    last->middle_of_line = false;
  }
  const std::string label = fmt::format("{}{}", output_.timed ? time_of_day() + " " : "",
                                        output_.labelled ? fmt::format("[{}] ", stream.rank) : "");
  std::string_view rest(stream.pending.data(), ready);
  while (!rest.empty()) {
    if (!stream.middle_of_line) {
      text += label;
    }
    std::size_t newline = rest.find('\n');
    std::size_t length = newline == std::string_view::npos ? rest.size() : newline + 1;
    text += rest.substr(0, length);
    rest.remove_prefix(length);
    stream.middle_of_line = newline == std::string_view::npos;
  }
  last = stream.middle_of_line ? &stream : nullptr;
  if (!write_all(stream.sink, text)) {
    lost_ = errno == EPIPE ? lost_ : errno;
    stream.reader_gone = true;  // as for any program: the next write of the rank gets SIGPIPE
  }
  stream.pending.erase(0, ready);
  stream.oldest_ms = now_ms();
}

}  // namespace meantime::launch
