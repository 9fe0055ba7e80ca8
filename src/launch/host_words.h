// The words by which mpiexec starts a host of thread ranks: numbers, a list, then the program.
#pragma once

#include <charconv>
#include <cstring>
#include <string>
#include <vector>

namespace meantime::launch {

struct HostWords {
  int first_rank = 0;  ///< world rank of the first one here
  int ranks = 0;
  int stdin_rank = 0;    ///< -1: nobody reads standard input
  int no_input = -1;     ///< descriptor of /dev/null
  int first_label = -1;  ///< descriptors of the first rank's labelled output and error, then of the
                         ///< next one; -1: not labelled
  int round_robin = 0;   ///< 1: ranks are dealt out to the workers, 0: in blocks
  int steal = 0;         ///< 1: an idle worker takes ranks from others
  std::vector<int> first_workers;  ///< of each rank here; empty: by round_robin
  std::string path;                ///< of the program
  int program_words = 0;           ///< where the program's own words begin, its name first

  static constexpr int numbers = 7;

  std::vector<std::string> words() const {
    std::vector<std::string> result = {"meantime-host"};
    for (int number : {first_rank, ranks, stdin_rank, no_input, first_label, round_robin, steal}) {
      result.push_back(std::to_string(number));
    }
    std::string list = "-";
    for (int worker : first_workers) {
      list += std::to_string(worker) + ",";
    }
    result.push_back(list);
    result.push_back(path);
    return result;
  }

  bool parse(int count, char** words) {
    int* const places[numbers] = {&first_rank,  &ranks,       &stdin_rank, &no_input,
                                  &first_label, &round_robin, &steal};
    if (count < 1 + numbers + 3) {
      return false;
    }
    for (int i = 0; i < numbers; ++i) {
      const char* const word = words[1 + i];
      const char* const end = word + std::strlen(word);
      if (std::from_chars(word, end, *places[i]).ptr != end) {
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
    path = words[1 + numbers + 1];
    program_words = 1 + numbers + 2;
    return ranks > 0 && (first_workers.empty() || static_cast<int>(first_workers.size()) == ranks);
  }
};

}  // namespace meantime::launch
