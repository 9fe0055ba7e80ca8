// std::locale::global and what streams do by it are each rank's own. argv[1] is a locale with a
// decimal comma, if there is one. Prints " No Errors" or what is wrong.
#include <mpi.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>

namespace {

int failures = 0;
int rank = 0;

void check(bool right, const std::string& what) {
  if (!right) {
    ++failures;
    std::fprintf(stderr, "rank %d: wrong: %s\n", rank, what.c_str());
  }
}

std::string by_stream() {
  std::ostringstream out;  // has the global locale
  out << 0.5;
  return out.str();
}
std::string by_printf() {
  char text[20];
  std::snprintf(text, sizeof text, "%.1f", 0.5);
  return text;
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool odd = rank % 2 == 1;
  const bool comma = count > 1 && odd;
  const std::string name = count > 1 ? words[1] : "C.UTF-8";
  for (int i = 0; i < 3; ++i) {
    check(std::locale().name() == "C" && by_stream() == "0.5", "the first locale");
    MPI_Barrier(MPI_COMM_WORLD);
    if (odd) {
      setenv("LC_ALL", name.c_str(), 1);
    }
    const std::locale before = std::locale::global(std::locale(odd ? "" : "C"));
    for (int j = 0; j < 3; ++j) {
      MPI_Barrier(MPI_COMM_WORLD);
      check(before.name() == "C" && std::locale().name() == (odd ? name : "C"), "its name");
      check(by_stream() == (comma ? "0,5" : "0.5"), "a stream: " + by_stream());
      check(by_printf() == (comma ? "0,5" : "0.5"), "printf: " + by_printf());
      check(std::setlocale(LC_ALL, nullptr) == std::string(odd ? name : "C"), "setlocale");
      std::istringstream in(comma ? "0,5" : "0.5");
      double value = 0;
      check((in >> value) && value == 0.5, "input of a stream");
      try {
        check(std::stod(comma ? "0,5" : "0.5") == 0.5, "stod");
        const std::locale none("no_SUCH.locale");
        check(false, "no such locale");
      } catch (const std::runtime_error&) {
      }
    }
    std::locale::global(std::locale::classic());
    MPI_Barrier(MPI_COMM_WORLD);
    check(by_printf() == "0.5", "back");
  }
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0 && failures == 0) {
    std::cout << " No Errors" << std::endl;
  }
  return failures != 0;
}
