// Every predefined op on every basic type it is defined for, by Allreduce, Reduce, Scan and
// Reduce_local; ops on types they are not defined for are errors; same input, same bits.
#include "collective.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>

using namespace check;

constexpr int count = 37;

template <class T>
static T value(int r, int i) {
  if (std::is_same_v<T, bool>) return static_cast<T>((r * 5 + i * 3) % 7 % 2);
  return static_cast<T>(1 + (r * 5 + i * 3) % 7);
}

template <class T>  // a vector of bool has no array of bool in it
using Cell = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;

template <class T>
static void check_op(MPI_Datatype type, const char* type_name, MPI_Op op, const char* op_name,
                     T (*apply)(T, T)) {
  std::vector<Cell<T>> mine(count), result(count), expected(count), prefix(count);
  for (int i = 0; i < count; ++i) {
    mine[i] = value<T>(rank, i);
    expected[i] = value<T>(0, i);
    for (int r = 1; r < size; ++r) expected[i] = apply(expected[i], value<T>(r, i));
    prefix[i] = value<T>(0, i);
    for (int r = 1; r <= rank; ++r) prefix[i] = apply(prefix[i], value<T>(r, i));
  }
  auto judge = [&](const std::vector<Cell<T>>& want, const char* call) {
    for (int i = 0; i < count; ++i)
      CHECK(result[i] == want[i], "%s %s %s element %d", call, op_name, type_name, i);
  };
  MUST(MPI_Allreduce(mine.data(), result.data(), count, type, op, MPI_COMM_WORLD));
  judge(expected, "allreduce");
  std::fill(result.begin(), result.end(), Cell<T>());
  MUST(MPI_Reduce(mine.data(), result.data(), count, type, op, size - 1, MPI_COMM_WORLD));
  if (rank == size - 1) judge(expected, "reduce");
  MUST(MPI_Scan(mine.data(), result.data(), count, type, op, MPI_COMM_WORLD));
  judge(prefix, "scan");
  for (int i = 0; i < count; ++i) {
    result[i] = value<T>(1, i);
    expected[i] = apply(value<T>(0, i), value<T>(1, i));
    mine[i] = value<T>(0, i);
  }
  MUST(MPI_Reduce_local(mine.data(), result.data(), count, type, op));
  judge(expected, "reduce_local");
}

#define OP(op, ...) \
  check_op<T>(      \
      type, name, op, #op, +[](T a, T b) -> T { return static_cast<T>(__VA_ARGS__); })

template <class T>
static void arithmetic(MPI_Datatype type, const char* name) {
  // Products of at most 7^size: exact in floats up to 8 ranks, modulo 2^n for integers.
  OP(MPI_SUM, a + b);
  if (std::is_integral_v<T> || size <= 8) OP(MPI_PROD, a * b);
  OP(MPI_MAX, a > b ? a : b);
  OP(MPI_MIN, a < b ? a : b);
}

template <class T>
static void bits(MPI_Datatype type, const char* name) {
  OP(MPI_BAND, a & b);
  OP(MPI_BOR, a | b);
  OP(MPI_BXOR, a ^ b);
}

template <class T>
static void logic(MPI_Datatype type, const char* name) {
  OP(MPI_LAND, a && b);
  OP(MPI_LOR, a || b);
  OP(MPI_LXOR, !a != !b);
}

template <class T>
static void integer(MPI_Datatype type, const char* name) {
  arithmetic<T>(type, name);
  bits<T>(type, name);
  logic<T>(type, name);
}

template <class T>
static void complex_type(MPI_Datatype type, const char* name) {
  OP(MPI_SUM, a + b);
}

template <class V>
struct Located {
  V value;
  int index;
  bool operator==(const Located& other) const {
    return value == other.value && index == other.index;
  }
};

template <class V>
static void located(MPI_Datatype type, const char* name) {
  for (bool greatest : {true, false}) {
    std::vector<Located<V>> mine(count), result(count), expected(count);
    for (int i = 0; i < count; ++i) {
      mine[i] = {value<V>(rank, i), rank * 3};
      expected[i] = {value<V>(0, i), 0};
      for (int r = 1; r < size; ++r) {  // equal values: the lower index
        V v = value<V>(r, i);
        if (greatest ? v > expected[i].value : v < expected[i].value) expected[i] = {v, r * 3};
      }
    }
    MUST(MPI_Allreduce(mine.data(), result.data(), count, type, greatest ? MPI_MAXLOC : MPI_MINLOC,
                       MPI_COMM_WORLD));
    for (int i = 0; i < count; ++i)
      CHECK(result[i] == expected[i], "%s %s element %d", greatest ? "MAXLOC" : "MINLOC", name, i);
  }
}

static void repeats() {
  // Sums of doubles of very different size: any other order gives other bits.
  for (int n : {1, 10, 1000, 40000}) {
    std::vector<double> mine(n), first(n), again(n);
    Random random(rank + 17);
    for (auto& x : mine)
      x = std::ldexp(static_cast<double>(random.next() >> 11), random.below(80) - 90);
    MUST(MPI_Allreduce(mine.data(), first.data(), n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    for (int round = 0; round < 5; ++round) {
      if (random.chance(30)) compute_ms(1);
      MUST(MPI_Allreduce(mine.data(), again.data(), n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
      CHECK(memcmp(first.data(), again.data(), n * sizeof(double)) == 0,
            "allreduce of %d: other bits", n);
    }
    // All ranks have the same bits.
    std::vector<double> theirs = first;
    MUST(MPI_Bcast(theirs.data(), n, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    CHECK(memcmp(first.data(), theirs.data(), n * sizeof(double)) == 0, "ranks differ, %d", n);
    MUST(MPI_Reduce(mine.data(), first.data(), n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
    for (int round = 0; round < 5; ++round) {
      if (random.chance(30)) compute_ms(1);
      MUST(MPI_Reduce(mine.data(), again.data(), n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
      if (rank == 0)
        CHECK(memcmp(first.data(), again.data(), n * sizeof(double)) == 0,
              "reduce of %d: other bits", n);
    }
  }
}

static void not_defined() {
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  double x[2] = {1, 2}, y[2];
  int error = MPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD);
  CHECK(error_class(error) == MPI_ERR_OP, "BAND of doubles: class %d", error_class(error));
  error = MPI_Allreduce(x, y, 1, MPI_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  CHECK(error_class(error) == MPI_ERR_OP, "MAXLOC of ints: class %d", error_class(error));
  error = MPI_Allreduce(x, y, 1, MPI_BYTE, MPI_SUM, MPI_COMM_WORLD);
  CHECK(error_class(error) == MPI_ERR_OP, "SUM of bytes: class %d", error_class(error));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char** argv) {
  start(argc, argv);
  integer<signed char>(MPI_SIGNED_CHAR, "signed char");
  integer<unsigned char>(MPI_UNSIGNED_CHAR, "unsigned char");
  integer<short>(MPI_SHORT, "short");
  integer<unsigned short>(MPI_UNSIGNED_SHORT, "unsigned short");
  integer<int>(MPI_INT, "int");
  integer<unsigned>(MPI_UNSIGNED, "unsigned");
  integer<long>(MPI_LONG, "long");
  integer<unsigned long>(MPI_UNSIGNED_LONG, "unsigned long");
  integer<long long>(MPI_LONG_LONG, "long long");
  integer<unsigned long long>(MPI_UNSIGNED_LONG_LONG, "unsigned long long");
  integer<int8_t>(MPI_INT8_T, "int8_t");
  integer<int16_t>(MPI_INT16_T, "int16_t");
  integer<int32_t>(MPI_INT32_T, "int32_t");
  integer<int64_t>(MPI_INT64_T, "int64_t");
  integer<uint8_t>(MPI_UINT8_T, "uint8_t");
  integer<uint16_t>(MPI_UINT16_T, "uint16_t");
  integer<uint32_t>(MPI_UINT32_T, "uint32_t");
  integer<uint64_t>(MPI_UINT64_T, "uint64_t");
  arithmetic<MPI_Aint>(MPI_AINT, "MPI_Aint");
  arithmetic<MPI_Count>(MPI_COUNT, "MPI_Count");
  arithmetic<MPI_Offset>(MPI_OFFSET, "MPI_Offset");
  bits<unsigned char>(MPI_BYTE, "byte");
  logic<bool>(MPI_C_BOOL, "bool");
  logic<bool>(MPI_CXX_BOOL, "C++ bool");
  arithmetic<float>(MPI_FLOAT, "float");
  arithmetic<double>(MPI_DOUBLE, "double");
  arithmetic<long double>(MPI_LONG_DOUBLE, "long double");
  complex_type<std::complex<float>>(MPI_C_FLOAT_COMPLEX, "float complex");
  complex_type<std::complex<double>>(MPI_C_DOUBLE_COMPLEX, "double complex");
  complex_type<std::complex<double>>(MPI_CXX_DOUBLE_COMPLEX, "C++ double complex");
  located<float>(MPI_FLOAT_INT, "float, int");
  located<double>(MPI_DOUBLE_INT, "double, int");
  located<long>(MPI_LONG_INT, "long, int");
  located<int>(MPI_2INT, "2 int");
  located<short>(MPI_SHORT_INT, "short, int");
  located<long double>(MPI_LONG_DOUBLE_INT, "long double, int");
  repeats();
  not_defined();
  return finish();
}
