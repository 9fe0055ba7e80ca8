// A random but correct MPI program, drawn from a seed: docs/internals/fuzzing.md.
//   fuzz --seed=N [--steps=N] [--limit=BYTES] [--only=STEP.NUMBER,…] [--trace] [--plain] [--list]
// Rank 0 prints a line for each operation: STEP.NUMBER KIND and a digest of what each rank
// received.
// --list only names the operations; --trace says on standard error when each begins; --plain is for
// MPICH (plan.h). The same seed and number of ranks must print the same with any MPI library.
#include <algorithm>
#include <cinttypes>
#include <set>

#include "layout.h"
#include "plan.h"
#include "pool.h"
#include "team.h"

namespace fuzz {
namespace {

struct Kind {
  const char* name;
  void (*begin)(Operation&);
  int weight;
};

constexpr Kind kinds[] = {
    {"messages", messages, 30},
    {"any_source", any_source, 6},
    {"exchange", exchange, 8},
    {"partitioned", partitioned, 5},
    {"cancelled", cancelled, 2},
    {"collective", collective, 14},
    {"varying", collective_varying, 12},
    {"reduction", reduction, 12},
    {"neighborhood", neighborhood, 8},
    {"datatype", datatype, 3},
    {"group", group, 2},
    {"churn", churn, 4},
};

const Kind& draw_kind(Random& random) {
  int total = 0;
  for (const Kind& kind : kinds) {
    total += kind.weight;
  }
  int at = random.below(total);
  for (const Kind& kind : kinds) {
    at -= kind.weight;
    if (at < 0) {
      return kind;
    }
  }
  return kinds[0];
}

struct Options {
  std::uint64_t seed = 1;
  int steps = 20;
  long limit = 1 << 20;
  bool trace = false, plain = false, list = false;
  std::set<std::string> only;
};

Options read(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string name = word.substr(0, word.find('='));
    const std::string value = name == word ? "" : word.substr(name.size() + 1);
    if (name == "--seed") {
      options.seed = strtoull(value.c_str(), nullptr, 0);
    } else if (name == "--steps") {
      options.steps = atoi(value.c_str());
    } else if (name == "--limit") {
      options.limit = atol(value.c_str());
    } else if (name == "--trace") {
      options.trace = true;
    } else if (name == "--list") {
      options.list = true;
    } else if (name == "--plain") {
      options.plain = true;
    } else if (name == "--only") {
      for (std::size_t at = 0; at <= value.size();) {
        const std::size_t end = std::min(value.find(',', at), value.size());
        options.only.insert(value.substr(at, end - at));
        at = end + 1;
      }
    } else {
      fprintf(stderr, "fuzz: unknown option %s\n", word.c_str());
      exit(2);
    }
  }
  return options;
}

void begin(Run& run, const Options& options, int step, int number) {
  Random random(options.seed, static_cast<std::uint64_t>(step) + 1,
                static_cast<std::uint64_t>(number) + 1);
  const Kind& kind = draw_kind(random);
  const std::string name = std::to_string(step) + "." + std::to_string(number);
  if (!options.only.empty() && options.only.count(name) == 0) {
    return;
  }
  if (run.trace) {
    fprintf(stderr, "rank %d: %s %s\n", run.rank, name.c_str(), kind.name);
  }
  run.digests.push_back(std::make_unique<Digest>());
  Digest& digest = *run.digests.back();
  digest.kind = kind.name;
  digest.step = step;
  digest.number = number;
  if (options.list) {
    return;
  }
  const std::uint64_t seed = random.next();
  Operation operation{run, random, digest, seed};
  kind.begin(operation);
}

void print(const Run& run) {
  std::vector<std::uint64_t> mine;
  for (const auto& digest : run.digests) {
    mine.push_back(digest->value);
  }
  const int count = static_cast<int>(mine.size());
  std::vector<std::uint64_t> all(run.rank == 0 ? mine.size() * static_cast<std::size_t>(run.size)
                                               : 0);
  MUST(MPI_Gather(mine.data(), count, MPI_UINT64_T, all.data(), count, MPI_UINT64_T, 0,
                  MPI_COMM_WORLD));
  if (run.rank != 0) {
    return;
  }
  for (std::size_t i = 0; i < mine.size(); ++i) {
    printf("%d.%d %s", run.digests[i]->step, run.digests[i]->number, run.digests[i]->kind.c_str());
    for (int r = 0; r < run.size; ++r) {
      printf(" %016" PRIx64, all[static_cast<std::size_t>(r) * mine.size() + i]);
    }
    printf("\n");
  }
  printf("finished\n");
}

int fuzz_main(int argc, char** argv) {
  const Options options = read(argc, argv);
  MUST(MPI_Init(&argc, &argv));
  Run run;
  MUST(MPI_Comm_rank(MPI_COMM_WORLD, &run.rank));
  MUST(MPI_Comm_size(MPI_COMM_WORLD, &run.size));
  run.seed = options.seed;
  run.limit = options.limit;
  run.trace = options.trace;
  run.plain = options.plain;
  if (run.plain) {
    wait_plainly();
    keep_types = true;
  }
  run.own = Random(options.seed, 31337, static_cast<std::uint64_t>(run.rank));
  std::vector<char> buffer(static_cast<std::size_t>(buffer_bytes) + (1 << 20));
  MUST(MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size())));
  Random shape(options.seed, 424242);
  const int communicators = shape.between(1, 8);
  for (int i = 0; i < communicators; ++i) {
    run.teams.push_back(make_team(run, i));
  }
  for (int step = 0; step < options.steps; ++step) {
    Random of_step(options.seed, static_cast<std::uint64_t>(step) + 1, 999);
    const int numbers = of_step.between(1, 8);
    for (int number = 0; number < numbers; ++number) {
      begin(run, options, step, number);
      if (run.own.chance(30)) {
        complete_some(run.own);
      }
    }
    if (of_step.chance(50) || outstanding() > 60) {
      complete_all(run.own);
    }
  }
  complete_all(run.own);
  print(run);
  for (const auto& team : run.teams) {
    if (team->mine && team->comm != MPI_COMM_NULL) {
      MUST(MPI_Comm_free(&team->comm));
    }
  }
  void* detached = nullptr;
  int size = 0;
  MUST(MPI_Buffer_detach(&detached, &size));
  MUST(MPI_Finalize());
  return 0;
}

}  // namespace
}  // namespace fuzz

int main(int argc, char** argv) {
  return fuzz::fuzz_main(argc, argv);
}
