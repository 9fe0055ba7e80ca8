// What a C++ program keeps is each rank's own: static objects, templates, streams and their flags,
// exceptions in flight, destructors at the end.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

int constructed = 0;
int rank_of_world = -1;
int failures = 0;

struct Static {
  std::string text = "a text that is too long to stand in the string itself";
  Static() { ++constructed; }
  ~Static() {
    if (rank_of_world == 0 && constructed == 1 && failures == 0) {
      std::printf(" No Errors\n");
    }
  }
};
Static object;
std::map<int, std::string> table{{1, "one"}, {2, "two"}};
template <class T>
struct Counter {
  static int value;
};
template <class T>
int Counter<T>::value = 5;
inline int& of_inline_function() {
  static int value = 50;
  return value;
}
thread_local std::string of_thread = "thread";

void check(bool right, const char* what) {
  if (!right) {
    ++failures;
    std::cerr << "rank " << rank_of_world << ": wrong: " << what << std::endl;
  }
}

void others() {
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_of_world);
  const int rank = rank_of_world;
  check(constructed == 1 && table.size() == 2, "static constructors");
  table[rank + 100] = "mine";
  Counter<int>::value += rank;
  of_inline_function() += rank;
  of_thread += std::to_string(rank);
  if (rank % 2 == 1) {
    std::cout << std::hex;
  }
  std::cerr << std::setprecision(rank + 1);
  others();
  check(((std::cout.flags() & std::ios::hex) != 0) == (rank % 2 == 1), "flags of std::cout");
  check(std::cerr.precision() == rank + 1, "precision of std::cerr");
  for (int i = 0; i < 5; ++i) {
    try {
      throw std::runtime_error(std::to_string(rank));
    } catch (const std::exception& outer) {
      others();
      check(std::stoi(outer.what()) == rank, "an exception");
      try {
        throw 42 + rank;
      } catch (int number) {
        others();
        check(number == 42 + rank, "a nested exception");
      }
      try {
        throw;
      } catch (const std::runtime_error& again) {
        check(std::stoi(again.what()) == rank, "an exception thrown again");
      }
    }
    check(std::uncaught_exceptions() == 0, "uncaught exceptions");
  }
  check(table.size() == 3 && table.count(rank + 100) == 1, "a static map");
  check(Counter<int>::value == 5 + rank && of_inline_function() == 50 + rank, "templates");
  check(of_thread == "thread" + std::to_string(rank), "a thread-local object");
  std::string seen;
  std::thread([&seen] { seen = of_thread; }).join();
  check(seen == "thread", "a thread-local object of a thread");
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return failures != 0;
}
