// Labelled output (-l and its like): whatever the ranks write comes through pipes, and each line is
// passed on with its rank, or the time, in front. No byte is changed or dropped; a newline is added
// only where another rank's line interrupts one that was already shown without its end. Files
// (--output-filename) get every byte as it was written.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "launch/cli/command_line.h"

namespace meantime::launch {

class Labeler {
 public:
  /// The write ends that a rank gets as standard output and error; the caller closes them once the
  /// rank runs. -1 and a problem if there are no descriptors left, or its files cannot be made.
  struct Ends {
    int output = -1;
    int error = -1;
    std::string problem;
  };

  Labeler(const RankOutput& output, int ranks) : output_(output), ranks_(ranks) {}
  Labeler(const Labeler&) = delete;
  Labeler& operator=(const Labeler&) = delete;
  ~Labeler();

  /// Before start(): makes the pipes of a rank.
  Ends add_rank(int rank);
  /// Forwards on a thread of its own: standard output may block for as long as its reader likes,
  /// and mpiexec must hear of deaths meanwhile.
  void start();
  /// Readable once all write ends are closed and everything is passed on. -1 before start().
  [[nodiscard]] int done() const { return done_; }
  /// Waits until then. The errno by which output was lost, or 0; that its reader went away does not
  /// count.
  int finish();

 private:
  struct Stream {
    int source = -1;
    int sink = -1;
    int file = -1;  ///< of --output-filename, if it was given
    int rank = 0;
    std::string pending;          ///< read, not yet passed on
    bool middle_of_line = false;  ///< something of its line is out already
    bool reader_gone = false;
    long oldest_ms = 0;  ///< when `pending` began to wait
  };

  /// Empty, or what cannot be had.
  std::string add_stream(int rank, int sink, const char* file, int& write_end);
  void forward();
  bool read_from(Stream& stream);
  void pass_on(Stream& stream, bool partial_too);
  void close_file(Stream& stream);
  Stream*& open_line(const Stream& stream);

  const RankOutput& output_;
  const int ranks_;  ///< of the whole job
  std::vector<Stream> streams_;
  std::thread thread_;
  int done_ = -1;
  int lost_ = 0;  ///< written by the thread
  bool same_sink_ = false;
  Stream* open_output_ = nullptr;  ///< whose unfinished line is the last thing on that sink
  Stream* open_error_ = nullptr;
};

}  // namespace meantime::launch
