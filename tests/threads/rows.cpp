// The rows of what does not just work with many images in one process, in C++: data copied from the
// program's own library, statics merged over a process, thread-local data, state of libc, streams,
// handlers at the end, exceptions in flight through a library. Prints " No Errors" or what is
// wrong.
#include "rows_library.h"

#include <getopt.h>
#include <mpi.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <thread>

namespace {

int rank = -1;
int failures = 0;

void check(bool right, const std::string& what) {
  if (!right) {
    ++failures;
    std::fprintf(stderr, "rank %d: wrong: %s\n", rank, what.c_str());
  }
}
void others() {
  MPI_Barrier(MPI_COMM_WORLD);
}

struct Square : Shape {
  int sides() const override { return Shape::sides() + 100 * rank; }
};

void library() {
  library_text += std::to_string(rank);
  library_numbers[3] = rank;
  Shape::count += rank + 1;
  Kept<int>::value += rank;
  library_thread += std::to_string(rank);
  others();
  check(library_text ==
                "of the library, too long to stand in the string itself" + std::to_string(rank) &&
            library_numbers[3] == rank,
        "copied data");
  check(Shape::count == rank + 1, "a static of a class");
  check(of_library() == 11 + rank && Kept<int>::value == 11 + rank, "a static of a template");
  check(library_thread == "library's thread" + std::to_string(rank), "thread-local");
  std::string seen;
  std::thread([&] { seen = library_thread; }).join();
  check(seen == "library's thread", "thread-local in a thread");
  {
    const std::unique_ptr<Shape> shape(new Square);
    others();
    check(shape->sides() == 4 + 100 * rank && dynamic_cast<Square*>(shape.get()) != nullptr,
          "a virtual function");
  }
  check(library_destroyed == 1, "a destructor of the library");
}

void exceptions() {
  check(call_back([](int value) -> int { throw Refused(value); }, 7 + rank) == -7 - rank,
        "an exception of the program, caught in the library");
  try {
    throw_refused(rank);
  } catch (const std::runtime_error& error) {
    const std::exception_ptr kept = std::current_exception();
    others();
    check(dynamic_cast<const Refused*>(&error) != nullptr &&
              static_cast<const Refused&>(error).value == rank,
          "an exception of the library");
    try {
      others();
      std::rethrow_exception(kept);
    } catch (const Refused& again) {
      others();
      check(again.value == rank && std::uncaught_exceptions() == 0, "thrown again");
    }
  }
  struct Unwinds {
    ~Unwinds() {
      others();  // while the exception is in flight
      check(std::uncaught_exceptions() == 1, "uncaught exceptions");
    }
  };
  try {
    const Unwinds unwinds;
    throw rank;
  } catch (int number) {
    check(number == rank, "in flight");
  }
  std::future<int> future = std::async(std::launch::async, []() -> int { throw Refused(rank); });
  try {
    future.get();
    check(false, "a future's exception");
  } catch (const Refused& refused) {
    check(refused.value == rank, "a future's exception");
  }
}

void libc_state(char** words) {
  errno = 1000 + rank;
  std::srand(static_cast<unsigned>(rank + 1));
  const int first = std::rand();
  char text[] = "one two three";
  std::strtok(text, " ");
  std::mt19937 engine(static_cast<unsigned>(rank));
  const auto drawn = engine();
  others();
  check(errno == 1000 + rank, "errno");
  std::srand(static_cast<unsigned>(rank + 1));
  check(std::rand() == first, "rand");
  const char* const second = std::strtok(nullptr, " ");
  check(second != nullptr && std::strcmp(second, "two") == 0, "strtok");
  check(std::mt19937(static_cast<unsigned>(rank))() == drawn, "an engine");
  char option[] = "-vNAME", other[] = "-x", file[] = "file";
  char* list[] = {words[0], option, other, file, nullptr};
  for (int wanted : {int{'v'}, int{'x'}, -1}) {
    check(getopt(4, list, "v:x") == wanted, "getopt");
    check(wanted != 'v' || std::strcmp(optarg, "NAME") == 0, "optarg");
    others();
  }
  check(optind == 3, "optind");
}

void streams() {
  std::cout.setf(rank % 2 == 0 ? std::ios::hex : std::ios::oct, std::ios::basefield);
  std::cout.precision(rank + 3);
  others();
  check(std::cout.precision() == rank + 3, "precision");
  std::ostringstream own;
  std::streambuf* const before = std::cout.rdbuf(own.rdbuf());
  others();
  std::cout << 64 << ' ' << rank / 1000.0;
  others();
  std::cout.rdbuf(before);
  check(own.str().substr(0, 3) == (rank % 2 == 0 ? "40 " : "100"), "a redirected std::cout");
  const std::filesystem::path folder = "rows." + std::to_string(rank);
  std::filesystem::create_directory(folder);
  std::filesystem::current_path(folder);
  others();
  std::ofstream("file") << rank;
  others();
  int number = -1;
  std::ifstream("file") >> number;
  check(number == rank && std::filesystem::current_path().filename() == folder, "files");
  std::filesystem::remove("file");
  std::filesystem::current_path("..");
  std::filesystem::remove(folder);
  std::string line;
  check(rank == 0 ? std::getline(std::cin, line) && line == "input" : !std::getline(std::cin, line),
        "std::cin");
  std::cout.setf(std::ios::dec, std::ios::basefield);
}

void waiting() {
  std::mutex mutex;
  std::condition_variable condition;
  bool ready = false;
  std::thread thread([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard hold(mutex);
    ready = true;
    condition.notify_one();
  });
  std::unique_lock hold(mutex);
  check(condition.wait_for(hold, std::chrono::seconds(1000), [&] { return ready; }), "wait_for");
  hold.unlock();
  thread.join();
}

int ended = 0;
struct Last {
  ~Last() {
    if (rank == 0 && failures == 0 && ended == 2) {
      std::cout << " No Errors" << std::endl;
    }
  }
};
const Last last;

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::atexit([] { ++ended; });
  static const struct Ends {
    ~Ends() { ended += ended == 0 || ended == 1 ? 1 : 100; }
  } ends;
  for (int i = 0; i < 1; ++i) {
    library();
    exceptions();
    libc_state(words);
    streams();
    waiting();
  }
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank % 2 == 0) {
    std::exit(failures != 0);
  }
  return failures != 0;
}
