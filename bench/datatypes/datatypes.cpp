// Datatypes beside the loop that a user would write instead of them.
//
//   column   one column of a square matrix of doubles (MPI_Type_vector of single elements)
//   rows     the face y = 0 of a cube of doubles: contiguous rows, a plane apart (a subarray)
//   face     the face x = 0 of the same cube: single elements, a row apart (a subarray)
//   structs  an array of structs without their padding (MPI_Type_create_struct, resized)
//
// Each is packed and unpacked by MPI_Pack and MPI_Unpack and by a loop, and goes to and fro between
// ranks 0 and 1: as it is, with the type at both ends, and packed by the loop. What arrives is
// compared with what was sent.
#include <cstddef>
#include <cstring>

#include "../common/mpi_program.h"

namespace {

const char usage[] =
    "datatypes: packing, unpacking and ping-pong, by datatype and by a hand-written loop\n"
    "  --layouts LIST    column, rows, face, structs (default all)\n"
    "  --elements LIST   of the column, the array of structs, and about that many of a face "
    "(default 64,1K,16K)\n"
    "  --seconds S       per row (default 0.2)\n"
    "  --json\n";

struct Particle {
  double position[3];
  int number;
  char kind;  // and three bytes of padding
};

// What is to be moved: as MPI sees it, and as loops see it. The loops know at compile time what a
// user's would.
struct Layout {
  std::vector<char> memory;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int count = 1;
  std::size_t bytes = 0;  // without gaps
  long first = 0, second = 0;

  virtual ~Layout() {
    if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  }
  virtual void pack(char* to) const = 0;
  virtual void unpack(const char* from) = 0;

  double* doubles() { return reinterpret_cast<double*>(memory.data()); }
  const double* doubles() const { return reinterpret_cast<const double*>(memory.data()); }

  void allocate(std::size_t size) {
    memory.resize(size);
    for (std::size_t i = 0; i < size; i++) memory[i] = static_cast<char>(i * 31 % 127);
    MPI_Type_commit(&type);
  }
};

struct Column final : Layout {
  explicit Column(long elements) {
    first = elements;                            // rows
    second = elements < 1024 ? elements : 1024;  // doubles of a row
    bytes = static_cast<std::size_t>(first) * sizeof(double);
    MPI_Type_vector(static_cast<int>(first), 1, static_cast<int>(second), MPI_DOUBLE, &type);
    allocate(static_cast<std::size_t>(first * second) * sizeof(double));
  }
  __attribute__((noinline)) void pack(char* to) const override {
    double* out = reinterpret_cast<double*>(to);
    for (long row = 0; row < first; row++) out[row] = doubles()[row * second];
  }
  __attribute__((noinline)) void unpack(const char* from) override {
    const double* in = reinterpret_cast<const double*>(from);
    for (long row = 0; row < first; row++) doubles()[row * second] = in[row];
  }
};

long edge_of(long elements) {
  long edge = 1;
  while (edge * edge < elements) edge++;
  return edge;
}

// The cube is [z][y][x], x the fastest.
struct Face : Layout {
  Face(long elements, int fixed) {
    first = edge_of(elements);
    bytes = static_cast<std::size_t>(first * first) * sizeof(double);
    const int n = static_cast<int>(first);
    const int sizes[] = {n, n, n}, starts[] = {0, 0, 0};
    int part[] = {n, n, n};
    part[fixed] = 1;
    MPI_Type_create_subarray(3, sizes, part, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    allocate(static_cast<std::size_t>(first * first * first) * sizeof(double));
  }
};

struct Rows final : Face {
  explicit Rows(long elements) : Face(elements, 1) {}
  __attribute__((noinline)) void pack(char* to) const override {
    double* out = reinterpret_cast<double*>(to);
    for (long z = 0; z < first; z++)
      for (long x = 0; x < first; x++) out[z * first + x] = doubles()[z * first * first + x];
  }
  __attribute__((noinline)) void unpack(const char* from) override {
    const double* in = reinterpret_cast<const double*>(from);
    for (long z = 0; z < first; z++)
      for (long x = 0; x < first; x++) doubles()[z * first * first + x] = in[z * first + x];
  }
};

struct Side final : Face {
  explicit Side(long elements) : Face(elements, 2) {}
  __attribute__((noinline)) void pack(char* to) const override {
    double* out = reinterpret_cast<double*>(to);
    for (long i = 0; i < first * first; i++) out[i] = doubles()[i * first];
  }
  __attribute__((noinline)) void unpack(const char* from) override {
    const double* in = reinterpret_cast<const double*>(from);
    for (long i = 0; i < first * first; i++) doubles()[i * first] = in[i];
  }
};

struct Structs final : Layout {
  static constexpr std::size_t one = 3 * sizeof(double) + sizeof(int) + 1;
  explicit Structs(long elements) {
    first = elements;
    count = static_cast<int>(elements);
    bytes = static_cast<std::size_t>(elements) * one;
    const int lengths[] = {3, 1, 1};
    const MPI_Aint places[] = {offsetof(Particle, position), offsetof(Particle, number),
                               offsetof(Particle, kind)};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};
    MPI_Datatype fields;
    MPI_Type_create_struct(3, lengths, places, types, &fields);
    MPI_Type_create_resized(fields, 0, sizeof(Particle), &type);
    MPI_Type_free(&fields);
    allocate(static_cast<std::size_t>(elements) * sizeof(Particle));
  }
  __attribute__((noinline)) void pack(char* to) const override {
    const Particle* particles = reinterpret_cast<const Particle*>(memory.data());
    for (long i = 0; i < first; i++, to += one) {
      std::memcpy(to, particles[i].position, 24);
      std::memcpy(to + 24, &particles[i].number, 4);
      to[28] = particles[i].kind;
    }
  }
  __attribute__((noinline)) void unpack(const char* from) override {
    Particle* particles = reinterpret_cast<Particle*>(memory.data());
    for (long i = 0; i < first; i++, from += one) {
      std::memcpy(particles[i].position, from, 24);
      std::memcpy(&particles[i].number, from + 24, 4);
      particles[i].kind = from[28];
    }
  }
};

std::unique_ptr<Layout> layout_of(const std::string& name, long elements) {
  if (name == "column") return std::make_unique<Column>(elements);
  if (name == "rows") return std::make_unique<Rows>(elements);
  if (name == "face") return std::make_unique<Side>(elements);
  if (name == "structs") return std::make_unique<Structs>(elements);
  throw bench::UsageError("--layouts are column, rows, face and structs");
}

struct Measurement {
  bench::Program& program;
  const std::string& name;
  Layout& layout;
  double seconds;
  std::vector<char> packed, other;

  Measurement(bench::Program& a_program, const std::string& a_name, Layout& a_layout,
              double some_seconds)
      : program(a_program),
        name(a_name),
        layout(a_layout),
        seconds(some_seconds),
        packed(a_layout.bytes),
        other(a_layout.bytes) {}

  // One sample is the mean of a batch: a clock costs as much as packing 64 elements.
  void row(const char* what, const char* by, const std::function<void()>& turn) {
    const bench::Keys keys{
        {"layout", name}, {"by", by}, {"bytes", static_cast<long>(layout.bytes)}};
    program.report.start(what, keys);
    const auto turns = [&](long n) {
      for (long i = 0; i < n; i++) turn();
    };
    const long batch = bench::turns_in(MPI_COMM_WORLD, 100e-6, 1, 100000, turns);
    const long batches =
        bench::turns_in(MPI_COMM_WORLD, seconds, 5, 100000, [&](long n) { turns(n * batch); });
    std::vector<std::uint64_t> stamps(static_cast<std::size_t>(batches) + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    stamps[0] = bench::now_ns();
    for (std::size_t i = 1; i < stamps.size(); i++) {
      turns(batch);
      stamps[i] = bench::now_ns();
    }
    program.report.row(what, keys, "us",
                       bench::distribution_of(bench::differences(stamps))
                           .scaled(1e-3 / static_cast<double>(batch)));
  }

  // Both ranks call it; after two messages each has what it had.
  void to_and_fro(const std::function<void()>& send, const std::function<void()>& receive) const {
    if (program.rank == 0) {
      send();
      receive();
    } else {
      receive();
      send();
    }
  }

  void pack_by_type() {
    int position = 0;
    MPI_Pack(layout.memory.data(), layout.count, layout.type, packed.data(),
             static_cast<int>(packed.size()), &position, MPI_COMM_SELF);
  }
  void unpack_by_type() {
    int position = 0;
    MPI_Unpack(packed.data(), static_cast<int>(packed.size()), &position, layout.memory.data(),
               layout.count, layout.type, MPI_COMM_SELF);
  }

  void check() {
    layout.pack(other.data());
    pack_by_type();
    if (packed != other) bench::measured_wrong(name + ": MPI_Pack and the loop differ");
    const std::vector<char> before = layout.memory;
    unpack_by_type();
    if (layout.memory != before)
      bench::measured_wrong(name + ": MPI_Unpack changed what it had packed");
  }

  void run() {
    check();
    row("pack", "loop", [&] { layout.pack(packed.data()); });
    row("pack", "type", [&] { pack_by_type(); });
    row("unpack", "loop", [&] { layout.unpack(packed.data()); });
    row("unpack", "type", [&] { unpack_by_type(); });
    const int partner = 1 - program.rank, bytes = static_cast<int>(packed.size());
    if (program.ranks != 2) return;
    row("to and fro", "loop", [&] {
      to_and_fro(
          [&] {
            layout.pack(packed.data());
            MPI_Send(packed.data(), bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
          },
          [&] {
            MPI_Recv(packed.data(), bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            layout.unpack(packed.data());
          });
    });
    row("to and fro", "type", [&] {
      to_and_fro(
          [&] {
            MPI_Send(layout.memory.data(), layout.count, layout.type, partner, 1, MPI_COMM_WORLD);
          },
          [&] {
            MPI_Recv(layout.memory.data(), layout.count, layout.type, partner, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
          });
    });
    check();
  }
};

void body(bench::Program& program) {
  const auto layouts = program.options.texts("layouts", "column,rows,face,structs");
  const auto elements = program.options.sizes("elements", "64,1K,16K");
  const double seconds = program.options.seconds("seconds", 0.2);
  if (program.ranks > 2) throw bench::UsageError("datatypes wants one rank, or two");
  program.begin("datatypes", {{"seconds per row", seconds}});
  for (const std::string& name : layouts)
    for (long count : elements) {
      const auto layout = layout_of(name, count);
      Measurement(program, name, *layout, seconds).run();
    }
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program(argc, argv, usage, body);
}
