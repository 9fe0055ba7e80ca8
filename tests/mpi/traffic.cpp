// Randomised point-to-point traffic. From the seed alone every rank derives the whole list of
// messages: source, destination, communicator, tag, type, size, mode, and how it is received
// (posted early, late, by wildcard, probed, too short, after a cancelled receive). Few tags are
// reused; each payload carries its stream's sequence number. Per stream (source, destination,
// communicator, tag) the order must hold whatever receives it. `--digest` prints a digest of the
// messages received without wildcards, in an order of its own: equal on every MPI.
#include "check.h"

#include <array>
#include <map>
#include <memory>

using namespace check;

constexpr int tags = 3, comms = 3, most = 140000;
static MPI_Comm comm_of[comms];
static int rank_in[comms][64];  // world rank → rank in the communicator

enum Type { BYTES, INTS, STRIDED, BACKWARDS, TYPES };
static MPI_Datatype int_pairs_with_gap, int_backwards;

struct Message {
  int source, destination, comm, tag, type, ints, mode, sequence;
  bool wildcard, early, probed, tooshort, cancel_first;
};

// Rounds are separated: within a round a (source, destination, communicator) is either received
// with wildcards throughout or not at all, so that what a wildcard takes is checkable.
static std::vector<Message> plan(uint64_t seed, int round, int messages) {
  Random random(seed * 1000 + round);
  static const int sizes[] = {0,   1,    2,    5,    8,    15,   16,    17,    64,    250,
                              256, 1000, 1024, 1500, 4000, 8192, 16384, 16400, 20000, 33000};
  std::vector<Message> result;
  bool wild[comms];
  for (bool& w : wild) w = random.chance(35);
  std::map<std::array<int, 4>, int> sequences;
  for (int m = 0; m < messages; ++m) {
    Message x{};
    x.source = random.below(size);
    x.destination = random.below(size);
    x.comm = random.below(comms);
    x.tag = random.below(tags);
    x.type = random.below(TYPES);
    x.ints = sizes[random.below(random.chance(80) ? 13 : 20)];
    if (x.type == STRIDED || x.type == BACKWARDS) x.ints &= ~1;
    x.mode = random.below(10);
    x.wildcard = wild[x.comm];
    x.early = random.chance(50);
    x.probed = !x.early && random.chance(25);
    x.tooshort = !x.wildcard && !x.probed && x.ints > 2 && random.chance(4);
    x.cancel_first = random.chance(5);
    x.sequence = sequences[{x.source, x.destination, x.comm, x.tag}]++;
    result.push_back(x);
  }
  return result;
}

static MPI_Datatype type_of(int type) {
  return type == BYTES     ? MPI_BYTE
         : type == INTS    ? MPI_INT
         : type == STRIDED ? int_pairs_with_gap
                           : int_backwards;
}
static int count_of(int type, int ints) {
  return type == BYTES ? ints * 4 : type == INTS ? ints : ints / 2;
}
static size_t span_of(int type, int ints) {  // bytes of memory
  return type == STRIDED || type == BACKWARDS ? size_t(ints) / 2 * 12 : size_t(ints) * 4;
}
static size_t place_of(int type, int i) {  // byte offset of int i
  if (type == STRIDED) return size_t(i) / 2 * 12 + (i % 2) * 8;
  if (type == BACKWARDS) return size_t(i) / 2 * 12 + (i % 2 ? 0 : 4);
  return size_t(i) * 4;
}

static int content(const Message& x, int i) {
  if (i == 0) return x.sequence;
  unsigned value = (x.source * 64u + x.destination) * 2654435761u + x.sequence * 40503u + i * 97u +
                   x.comm * 5u + x.tag;
  return static_cast<int>(value);
}

static void compose(std::vector<unsigned char>& buffer, const Message& x) {
  buffer.assign(span_of(x.type, x.ints) + 1, 0x55);
  for (int i = 0; i < x.ints; ++i) {
    int value = content(x, i);
    memcpy(buffer.data() + place_of(x.type, i), &value, 4);
  }
}

struct Receive {
  const Message* expected = nullptr;  // null: whatever the wildcard brings
  int comm = 0, type = 0, room = 0;   // room in ints
  std::vector<unsigned char> buffer;
  MPI_Request request = MPI_REQUEST_NULL;
};

struct Traffic {
  std::vector<Message> messages;
  std::vector<std::vector<unsigned char>> out;
  std::vector<MPI_Request> sends;
  std::map<std::array<int, 3>, std::vector<const Message*>>
      streams;  // source, comm, tag → in order
  std::map<std::array<int, 3>, size_t> next;
  uint64_t digest = 0;
  Random own;

  Traffic(uint64_t seed, int round, int n)
      : messages(plan(seed, round, n)), own(seed * 77 + round * 13 + rank) {
    for (auto& m : messages)
      if (m.destination == rank) streams[{m.source, m.comm, m.tag}].push_back(&m);
  }

  void send(const Message& x) {
    out.emplace_back();
    compose(out.back(), x);
    MPI_Request request = MPI_REQUEST_NULL;
    const void* data = out.back().data();
    const int count = count_of(x.type, x.ints), to = rank_in[x.comm][x.destination];
    MPI_Datatype type = type_of(x.type);
    MPI_Comm comm = comm_of[x.comm];
    if (x.mode == 0)
      MUST(MPI_Issend(data, count, type, to, x.tag, comm, &request));
    else if (x.mode == 1)
      MUST(MPI_Ibsend(data, count, type, to, x.tag, comm, &request));
    else
      MUST(MPI_Isend(data, count, type, to, x.tag, comm, &request));
    sends.push_back(request);
  }

  // A stream's next message is what a receive without wildcards gets.
  std::unique_ptr<Receive> prepare(const Message& x) {
    auto r = std::make_unique<Receive>();
    r->comm = x.comm;
    if (x.wildcard) {
      r->type = BYTES;
      r->room = most / 4;
    } else {
      r->expected = &x;
      r->type = x.type == BYTES  ? int(BYTES)
                : own.chance(50) ? x.type
                : x.ints % 2     ? int(INTS)
                                 : int(STRIDED);
      r->room = x.tooshort ? x.ints / 2 & ~1 : x.ints + (own.chance(50) ? 8 : 0);
    }
    r->buffer.assign(span_of(r->type, r->room) + 8, 0xEE);
    return r;
  }

  void post(Receive& r, const Message& x) {
    MUST(MPI_Irecv(r.buffer.data(), count_of(r.type, r.room), type_of(r.type),
                   x.wildcard ? int(MPI_ANY_SOURCE) : rank_in[x.comm][x.source],
                   x.wildcard ? int(MPI_ANY_TAG) : x.tag, comm_of[x.comm], &r.request));
  }

  void judge(Receive& r, const MPI_Status& status, int error) {
    const Message* x = r.expected;
    if (!x) {
      int source = 0;
      while (source < size && rank_in[r.comm][source] != status.MPI_SOURCE) ++source;
      auto& stream = streams[{source, r.comm, status.MPI_TAG}];
      size_t& at = next[{source, r.comm, status.MPI_TAG}];
      CHECK(at < stream.size(), "a message too many from %d tag %d", source, status.MPI_TAG);
      if (at >= stream.size()) return;
      x = stream[at++];
    }
    int bytes = -1;
    MPI_Get_elements(&status, r.type == BYTES ? MPI_BYTE : MPI_INT, &bytes);
    if (r.type != BYTES) bytes *= 4;
    CHECK(status.MPI_SOURCE == rank_in[x->comm][x->source] && status.MPI_TAG == x->tag);
    if (x->tooshort) {
      CHECK(error_class(error) == MPI_ERR_TRUNCATE, "class %d", error_class(error));
    } else {
      CHECK(error == MPI_SUCCESS, "%s", error_text(error).c_str());
      CHECK(bytes == x->ints * 4, "from %d seq %d: %d bytes, not %d", x->source, x->sequence, bytes,
            x->ints * 4);
      for (int i = 0; i < x->ints; ++i) {
        int value;
        memcpy(&value, r.buffer.data() + place_of(r.type, i), 4);
        if (value != content(*x, i)) {
          CHECK(false, "from %d tag %d comm %d sequence %d of %d ints: int %d is %d, not %d",
                x->source, x->tag, x->comm, x->sequence, x->ints, i, value, content(*x, i));
          break;
        }
        if (!x->wildcard) digest += uint64_t(static_cast<unsigned>(value)) * (i + 1);
      }
    }
    const size_t end = span_of(r.type, r.room);
    CHECK(first_other_than(r.buffer.data() + end, 8, 0xEE) < 0, "written beyond the end");
  }

  void blocking(const Message& x) {
    auto r = prepare(x);
    MPI_Status status;
    int error = MPI_SUCCESS;
    if (x.cancel_first && !x.wildcard) {
      // A receive that is cancelled must leave the message to the next; if it got it, it counts.
      post(*r, x);
      MUST(MPI_Cancel(&r->request));
      error = MPI_Wait(&r->request, &status);
      int cancelled = 0;
      MUST(MPI_Test_cancelled(&status, &cancelled));
      if (!cancelled) return judge(*r, status, error);
      CHECK(first_other_than(r->buffer.data(), r->buffer.size(), 0xEE) < 0, "cancelled, written");
    }
    const int source = x.wildcard ? int(MPI_ANY_SOURCE) : rank_in[x.comm][x.source];
    const int tag = x.wildcard ? int(MPI_ANY_TAG) : x.tag;
    if (x.probed) {
      MPI_Message message;
      if (own.chance(50)) {
        MUST(MPI_Mprobe(source, tag, comm_of[x.comm], &message, &status));
      } else {
        int flag = 0;
        while (!flag) MUST(MPI_Improbe(source, tag, comm_of[x.comm], &flag, &message, &status));
      }
      error = MPI_Mrecv(r->buffer.data(), count_of(r->type, r->room), type_of(r->type), &message,
                        &status);
    } else {
      error = MPI_Recv(r->buffer.data(), count_of(r->type, r->room), type_of(r->type), source, tag,
                       comm_of[x.comm], &status);
    }
    judge(*r, status, error);
  }

  void run() {
    // Once a stream has a late receive all later ones are late: posting order is message order.
    std::map<std::array<int, 3>, bool> is_late;
    std::vector<const Message*> order_early, order_late;
    for (auto& m : messages) {
      if (m.destination != rank) continue;
      std::array<int, 3> key = m.wildcard ? std::array<int, 3>{-1, m.comm, -1}
                                          : std::array<int, 3>{m.source, m.comm, m.tag};
      if (m.early && !is_late[key]) {
        order_early.push_back(&m);
      } else {
        is_late[key] = true;
        order_late.push_back(&m);
      }
    }
    std::vector<std::unique_ptr<Receive>> receives;
    auto post_some = [&](size_t limit) {
      while (receives.size() < order_early.size() && receives.size() < limit) {
        auto& x = *order_early[receives.size()];
        receives.push_back(prepare(x));
        post(*receives.back(), x);
      }
    };
    post_some(order_early.size() / 2);
    int sent = 0;
    for (auto& m : messages)
      if (m.source == rank) {
        send(m);
        if (++sent % 16 == 0) {
          if (own.chance(10)) compute_ms(1);
          post_some(receives.size() + 8);
          progress_sends();
        }
      }
    post_some(order_early.size());
    // In order of posting: of two receives that both match, the first has the earlier message.
    size_t waited = 0;
    for (size_t l = 0; l < order_late.size() || waited < receives.size();) {
      const bool posted = waited < receives.size() &&
                          (l >= order_late.size() || own.chance(50) || order_late[l]->wildcard);
      if (posted) {
        MPI_Status status;
        int error = MPI_Wait(&receives[waited]->request, &status);
        judge(*receives[waited++], status, error);
      } else {
        blocking(*order_late[l++]);
      }
    }
    MUST(MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE));
  }

  void progress_sends() {
    int flag;
    if (!sends.empty())
      MUST(MPI_Test(&sends[own.below(static_cast<int>(sends.size()))], &flag, MPI_STATUS_IGNORE));
  }
};

static void separate() {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  for (int lap = 0; lap < 2 && size > 1; ++lap) {
    if (rank) MUST(MPI_Recv(nullptr, 0, MPI_INT, last, 500, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MUST(MPI_Send(nullptr, 0, MPI_INT, next, 500, MPI_COMM_WORLD));
    if (!rank) MUST(MPI_Recv(nullptr, 0, MPI_INT, last, 500, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
}

int main(int argc, char** argv) {
  start(argc, argv);
  if (size > 64) MPI_Abort(MPI_COMM_WORLD, 1);
  const int rounds = static_cast<int>(option("rounds", 12)),
            seed = static_cast<int>(option("seed", 1));
  const int messages = static_cast<int>(option("messages", 250 * (size < 4 ? 2 : size / 2)));
  // Copies only: the world itself stays free for the separation. One is reversed.
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm_of[0]));
  MUST(MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comm_of[1]));
  MUST(MPI_Comm_dup(comm_of[1], &comm_of[2]));
  // MPICH raises an error of a finished message to self on MPI_COMM_SELF.
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  for (int c = 0; c < comms; ++c) {
    MUST(MPI_Comm_set_errhandler(comm_of[c], MPI_ERRORS_RETURN));
    for (int r = 0; r < size; ++r) rank_in[c][r] = c ? size - 1 - r : r;
  }
  int lengths[] = {1, 1};
  MPI_Aint gap[] = {0, 8}, back[] = {4, 0};
  MPI_Datatype ints[] = {MPI_INT, MPI_INT}, bare;
  for (auto [at, type] : {std::pair{gap, &int_pairs_with_gap}, std::pair{back, &int_backwards}}) {
    MUST(MPI_Type_create_struct(2, lengths, at, ints, &bare));
    MUST(MPI_Type_create_resized(bare, 0, 12, type));
    MUST(MPI_Type_commit(type));
    MUST(MPI_Type_free(&bare));
  }
  std::vector<unsigned char> attached(size_t(messages) * 30000 + 10000000);
  MUST(MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size())));
  uint64_t digest = 0;
  for (int round = 0; round < rounds; ++round) {
    Traffic traffic(seed, round, messages);
    traffic.run();
    digest = digest * 31 + traffic.digest;
    separate();
  }
  void* detached;
  int bytes;
  MUST(MPI_Buffer_detach(&detached, &bytes));
  if (option("digest", 0))
    printf("digest %d of %d: %016llx\n", rank, size, (unsigned long long)digest);
  MUST(MPI_Type_free(&int_pairs_with_gap));
  MUST(MPI_Type_free(&int_backwards));
  for (auto& comm : comm_of) MUST(MPI_Comm_free(&comm));
  return finish();
}
