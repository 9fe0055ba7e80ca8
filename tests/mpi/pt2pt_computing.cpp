// Messages that travel while their ranks compute: each round all ranks begin receives and sends of
// random sizes, kinds and sources, compute for random times, now and then in the midst of it ask
// whether one is over, and then finish them in a random order. What moves them meanwhile, if
// anything does, must neither lose nor mix nor shorten any.
#include "check.h"
#include "dice.h"

using namespace check;

namespace {

void compute(int us) {
  const double until = MPI_Wtime() + us * 1e-6;
  while (MPI_Wtime() < until) {
  }
}

int pick_bytes(Dice& dice) {
  constexpr int limits[] = {17, 1000, 9000, 70'000, 600'000};
  return dice.below(limits[dice.below(5)]);
}

// What the message with this number from `source` has at this place.
char content(int source, int number, int place) {
  return static_cast<char>(source * 31 + number * 7 + place % 127);
}

struct Transfer {
  std::vector<char> bytes;
  int number = 0;
  MPI_Request request = MPI_REQUEST_NULL;
};

// Every other byte of it.
MPI_Datatype striped(int bytes) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MUST(MPI_Type_vector(bytes, 1, 2, MPI_CHAR, &type));
  MUST(MPI_Type_commit(&type));
  return type;
}

// The messages of a round between each two ranks, of which both know all by the same dice.
void round_of(Dice& common, Dice& own, int round, int delay) {
  constexpr int messages = 4;
  const auto count = static_cast<std::size_t>(messages * (size - 1));
  std::vector<Transfer> in, out;
  in.reserve(count);
  out.reserve(count);
  const bool any_source = common.below(4) == 0;
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      for (int number = 0; from != to && number < messages; ++number) {
        const int bytes = pick_bytes(common), kind = common.below(6);
        if (from == rank) {
          out.push_back({std::vector<char>(static_cast<std::size_t>(2 * bytes + 1)), number,
                         MPI_REQUEST_NULL});
          std::vector<char>& data = out.back().bytes;
          const int step = kind == 0 ? 2 : 1;
          for (int i = 0; i < bytes; ++i)
            data[static_cast<std::size_t>(i * step)] = content(from, number + round, i);
          const int tag = from * messages + number;
          MPI_Request* const request = &out.back().request;
          if (kind == 0) {
            MPI_Datatype type = striped(bytes);
            MUST(MPI_Isend(data.data(), 1, type, to, tag, MPI_COMM_WORLD, request));
            MUST(MPI_Type_free(&type));
          } else if (kind == 1) {
            MUST(MPI_Issend(data.data(), bytes, MPI_CHAR, to, tag, MPI_COMM_WORLD, request));
          } else {
            MUST(MPI_Isend(data.data(), bytes, MPI_CHAR, to, tag, MPI_COMM_WORLD, request));
          }
        } else if (to == rank) {
          in.push_back({std::vector<char>(static_cast<std::size_t>(bytes)),
                        from * messages + number, MPI_REQUEST_NULL});
          MUST(MPI_Irecv(in.back().bytes.data(), bytes, MPI_CHAR,
                         any_source ? MPI_ANY_SOURCE : from, in.back().number, MPI_COMM_WORLD,
                         &in.back().request));
        }
      }
    }
  }
  for (int part = 0; part < 3; ++part) {
    compute(own.below(delay + 1));
    if (own.below(3) == 0 && !in.empty()) {
      int flag = 0;
      Transfer& one = in[static_cast<std::size_t>(own.below(static_cast<int>(in.size())))];
      MUST(MPI_Test(&one.request, &flag, MPI_STATUS_IGNORE));
    }
  }
  std::vector<MPI_Request> all;
  for (const Transfer& each : in) all.push_back(each.request);
  for (const Transfer& each : out) all.push_back(each.request);
  for (std::size_t left = all.size(); left != 0; --left)
    std::swap(all[left - 1], all[static_cast<std::size_t>(own.below(static_cast<int>(left)))]);
  if (own.below(2) == 0) {
    MUST(MPI_Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE));
  } else {
    for (MPI_Request& request : all) {
      MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
      if (own.below(4) == 0) compute(own.below(delay / 8 + 1));
    }
  }
  for (const Transfer& each : in) {
    const int from = each.number / messages, number = each.number % messages;
    for (std::size_t i = 0; i < each.bytes.size(); ++i) {
      if (each.bytes[i] != content(from, number + round, static_cast<int>(i))) {
        CHECK(false, "byte %d of %d from %d, round %d", static_cast<int>(i),
              static_cast<int>(each.bytes.size()), from, round);
        break;
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  start(argc, argv);
  const int rounds = static_cast<int>(option("rounds", 40));
  const int delay = static_cast<int>(option("delay", 1500));
  const long seed = option("seed", 1);
  Dice common(static_cast<std::uint64_t>(seed)), own(static_cast<std::uint64_t>(seed + 77 * rank));
  for (int round = 0; round < rounds; ++round) {
    round_of(common, own, round, delay);
    if (common.below(3) == 0) {
      int sum = 0;
      MPI_Request request = MPI_REQUEST_NULL;
      MUST(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
      compute(own.below(delay));
      MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
      CHECK(sum == size * (size - 1) / 2);
    }
  }
  return finish();
}
