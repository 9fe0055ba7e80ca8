// The words by which mpiexec starts a host of thread ranks: numbers, a list, then the programs.
#pragma once

#include <charconv>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace meantime::launch {

/// One program and how many ranks, in order, run it.
struct HostProgram {
  int ranks = 0;
  int number = 0;  ///< among the job's programs
  std::string path;
  std::vector<std::string> words;  ///< the program's own, its name first
};

/// The first word instead, for a trial start (launch/thread_ranks/host_trial.h); the program's path
/// follows.
inline constexpr const char* trial_word = "--trial";

struct HostWords {
  int first_rank = 0;  ///< world rank of the first one here
  int ranks = 0;
  int stdin_rank = 0;    ///< -1: nobody reads standard input
  int no_input = -1;     ///< descriptor of /dev/null
  int first_label = -1;  ///< descriptors of the first rank's labelled output and error, then of the
                         ///< next one; -1: not labelled
  int round_robin = 0;   ///< 1: ranks are dealt out to the workers, 0: in blocks
  int steal = 0;         ///< 1: an idle worker takes ranks from others
  int workers = 1;       ///< here
  int first_worker = 0;  ///< number in the node of the first of them
  int job_workers = 0;   ///< of all hosts, if all ranks of the job are threads; else 0
  std::vector<int> first_workers;  ///< of each rank here; empty: by round_robin
  std::vector<HostProgram> programs;

  static constexpr int numbers = 10;

  std::vector<std::string> words() const {
    std::vector<std::string> result = {"meantime-host"};
    for (int number : {first_rank, ranks, stdin_rank, no_input, first_label, round_robin, steal,
                       workers, first_worker, job_workers}) {
      result.push_back(std::to_string(number));
    }
    std::string list = "-";
    for (int worker : first_workers) {
      list += std::to_string(worker) + ",";
    }
    result.push_back(list);
    for (const HostProgram& program : programs) {
      result.push_back(std::to_string(program.ranks));
      result.push_back(std::to_string(program.number));
      result.push_back(std::to_string(program.words.size()));
      result.push_back(program.path);
      result.insert(result.end(), program.words.begin(), program.words.end());
    }
    return result;
  }

  /// Index in `programs` of what the rank of this index here runs.
  std::size_t program_of(int index) const {
    std::size_t program = 0;
    while (index >= programs[program].ranks) {
      index -= programs[program++].ranks;
    }
    return program;
  }

  bool parse(int count, char** words) {
    int* const places[numbers] = {&first_rank,  &ranks, &stdin_rank, &no_input,     &first_label,
                                  &round_robin, &steal, &workers,    &first_worker, &job_workers};
    if (count < 1 + numbers + 1) {
      return false;
    }
    for (int i = 0; i < numbers; ++i) {
      if (!read(words[1 + i], *places[i])) {
        return false;
      }
    }
    const char* place = words[1 + numbers] + 1;
    const char* const end = place + std::strlen(place);
    for (int worker = 0; place != end; ++place) {
      place = std::from_chars(place, end, worker).ptr;
      if (place == end) {
        return false;
      }
      first_workers.push_back(worker);
    }
    int left = ranks;
    for (int i = 1 + numbers + 1; i < count;) {
      HostProgram program;
      int own_words = 0;
      if (count - i < 5 || !read(words[i], program.ranks) || !read(words[i + 1], program.number) ||
          !read(words[i + 2], own_words) || own_words < 1 || own_words > count - i - 4) {
        return false;
      }
      program.path = words[i + 3];
      program.words.assign(words + i + 4, words + i + 4 + own_words);
      i += 4 + own_words;
      left -= program.ranks;
      programs.push_back(std::move(program));
    }
    return ranks > 0 && left == 0 && workers > 0 &&
           (first_workers.empty() || static_cast<int>(first_workers.size()) == ranks);
  }

 private:
  static bool read(const char* word, int& number) {
    const char* const end = word + std::strlen(word);
    return std::from_chars(word, end, number).ptr == end;
  }
};

}  // namespace meantime::launch
