// The floors of a barrier of bound processes: polling, and two ways to wake everybody.
//
// `poll`: one counter, one generation, nobody sleeps; only for as many ranks as there are cores.
// `broadcast`: one counter, one futex; the last to arrive wakes all.
// `tree`: waking a sleeping core is what costs (the interrupt to another processor), so the last
// rank of all wakes one rank of each other core, and every rank that proceeds wakes two of its own
// core: each core wakes its own. The last rank of each core polls briefly before it sleeps.
#include "processes.h"

namespace {

const char usage[] =
    "barrier: bare processes, time of one barrier\n"
    "  --ways LIST    poll, broadcast, tree (default: all)\n"
    "  --ranks LIST   (default 2,8,16,32,64)\n"
    "  --spin N       turns that the last rank of a core polls in `tree` (default 200)\n"
    "  --seconds S    per point (default 0.5)\n"
    "  --json\n";

const int batches = 5, most_ranks = 1024, most_cores = 256;

struct alignas(64) Line {
  bench::Word value{0};
};

struct Shared {
  Line generation, arrived_at_node, turns;
  Line arrived[most_cores];
  Line bell[most_ranks];
};

enum Bell : std::uint32_t { awake = 0, asleep = 1 };

// Where a rank sits: ranks are spread over the cores in blocks, as evenly as can be.
struct Place {
  int core, index, on_core, cores, ranks;

  Place(int rank, int all, int processors) : cores(std::min(all, processors)), ranks(all) {
    core = static_cast<int>(static_cast<long>(rank) * cores / all);
    index = rank - first(core);
    on_core = first(core + 1) - first(core);
  }
  int first(int which) const {
    return static_cast<int>((static_cast<long>(which) * ranks + cores - 1) / cores);
  }
};

void barrier_by_polling(Shared& shared, const Place& place) {
  bench::Word& generation = shared.generation.value;
  const std::uint32_t mine = generation.load(std::memory_order_relaxed);
  if (shared.arrived_at_node.value.fetch_add(1) + 1 == static_cast<std::uint32_t>(place.ranks)) {
    shared.arrived_at_node.value.store(0, std::memory_order_relaxed);
    generation.store(mine + 1, std::memory_order_release);
  } else {
    while (generation.load(std::memory_order_acquire) == mine) bench::pause_briefly();
  }
}

void barrier_by_broadcast(Shared& shared, const Place& place) {
  bench::Word& generation = shared.generation.value;
  const std::uint32_t mine = generation.load();
  if (shared.arrived_at_node.value.fetch_add(1) + 1 == static_cast<std::uint32_t>(place.ranks)) {
    shared.arrived_at_node.value.store(0);
    generation.store(mine + 1);
    bench::futex_wake(generation, INT_MAX);
  } else {
    while (generation.load() == mine) bench::futex_wait(generation, mine);
  }
}

void ring(bench::Word& bell) {
  if (bell.exchange(awake) == asleep) bench::futex_wake(bell, 1);
}

// Why no wake-up is lost: the sleeper says `asleep` and then reads the generation; the waker (or
// one whose ring it saw) stored the generation and then exchanges the bell. All are sequentially
// consistent, so at least one sees the other. A ring left over from the last barrier costs a turn.
void sleep_until_next(Shared& shared, int rank, std::uint32_t mine, int spin) {
  bench::Word &generation = shared.generation.value, &bell = shared.bell[rank].value;
  for (int i = 0; i < spin && generation.load() == mine; i++) bench::pause_briefly();
  while (generation.load() == mine) {
    bell.store(asleep);
    if (generation.load() == mine) bench::futex_wait(bell, asleep);
    bell.store(awake);
  }
}

void barrier_by_tree(Shared& shared, const Place& place, int spin) {
  const int first = place.first(place.core), rank = first + place.index;
  bench::Word& generation = shared.generation.value;
  const std::uint32_t mine = generation.load();
  bool last_of_core = shared.arrived[place.core].value.fetch_add(1) + 1 ==
                      static_cast<std::uint32_t>(place.on_core);
  bool last_of_all = false;
  if (last_of_core) {
    shared.arrived[place.core].value.store(0);
    last_of_all =
        shared.arrived_at_node.value.fetch_add(1) + 1 == static_cast<std::uint32_t>(place.cores);
  }
  if (last_of_all) {
    shared.arrived_at_node.value.store(0);
    generation.store(mine + 1);
    for (int core = 0; core < place.cores; core++)
      if (place.first(core) != rank) ring(shared.bell[place.first(core)].value);
  } else {
    sleep_until_next(shared, rank, mine, last_of_core ? spin : 0);
  }
  for (int child : {2 * place.index + 1, 2 * place.index + 2})
    if (child < place.on_core) ring(shared.bell[first + child].value);
}

// All ranks bound, five batches; how many turns fit is found by the first tries.
void measure(const std::string& way, int ranks, int spin, double seconds, bench::Report& report) {
  const bench::Keys keys{{"way", way}, {"ranks", ranks}};
  const std::vector<int> cpus = bench::allowed_cpus();
  Shared& shared = *bench::shared_object<Shared>();
  bench::Distribution result;
  bench::run_processes(ranks, [&](int rank) {
    const Place place(rank, ranks, static_cast<int>(cpus.size()));
    bench::bind_to(cpus[static_cast<std::size_t>(place.core)]);
    auto barrier = [&] {
      if (way == "tree")
        barrier_by_tree(shared, place, spin);
      else if (way == "poll")
        barrier_by_polling(shared, place);
      else
        barrier_by_broadcast(shared, place);
    };
    auto batch = [&](std::uint32_t turns, std::vector<double>& singles) {
      std::vector<std::uint64_t> stamps(turns + 1);
      barrier();
      stamps[0] = bench::now_ns();
      for (std::uint32_t i = 1; i <= turns; i++) {
        barrier();
        stamps[i] = bench::now_ns();
      }
      const std::vector<double> more = bench::differences(stamps);
      singles.insert(singles.end(), more.begin(), more.end());
      return static_cast<double>(stamps.back() - stamps.front()) / turns;
    };
    std::vector<double> singles, values;
    const double trial = batch(50, singles);
    if (rank == 0)
      shared.turns.value =
          static_cast<std::uint32_t>(std::clamp(seconds * 1e9 / batches / trial, 20.0, 1e6));
    barrier();
    const std::uint32_t turns = shared.turns.value;
    singles.clear();
    for (int i = 0; i < batches; i++) values.push_back(batch(turns, singles));
    if (rank != 0) return;
    result = bench::distribution_of(values);
    const bench::Distribution single = bench::distribution_of(singles);
    result.p99 = single.p99;
    result.max = single.max;
    result.samples = single.samples;
  });
  report.row("barrier", keys, "us", result.scaled(1e-3));
}

void body(bench::Options& options, bench::Report& report) {
  const auto ways = options.texts("ways", "poll,broadcast,tree");
  const auto ranks = options.sizes("ranks", "2,8,16,32,64");
  const long spin = options.number("spin", 200);
  const double seconds = options.seconds("seconds", 0.5);
  options.finish();
  for (const std::string& way : ways)
    if (way != "poll" && way != "broadcast" && way != "tree")
      throw bench::UsageError("--ways are poll, broadcast and tree");
  for (long n : ranks)
    if (n < 1 || n > most_ranks) throw bench::UsageError("--ranks are from 1 to 1024");
  report.header("barrier",
                {{"cpus", static_cast<long>(bench::allowed_cpus().size())}, {"spin", spin}});
  for (const std::string& way : ways)
    for (long n : ranks)
      if (way != "poll" || n <= static_cast<long>(bench::allowed_cpus().size()))
        measure(way, static_cast<int>(n), static_cast<int>(spin), seconds, report);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_prototype(argc, argv, usage, body);
}
