// Reductions: every operator with every named datatype against a naive loop, and which of them MPI
// defines at all (MPI 5.0, 6.9.2; the same answers as MPICH's).
#include "core/op/op.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/datatype/construction.h"
#include "core/op/half.h"

namespace meantime::test {
namespace {

const MPI_Op operators[] = {MPI_SUM,  MPI_MIN,  MPI_MAX, MPI_PROD, MPI_BAND,   MPI_BOR,
                            MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MINLOC, MPI_MAXLOC};

using Types = std::set<MPI_Datatype>;
const Types c_integers = {MPI_CHAR,
                          MPI_SIGNED_CHAR,
                          MPI_UNSIGNED_CHAR,
                          MPI_SHORT,
                          MPI_UNSIGNED_SHORT,
                          MPI_INT,
                          MPI_UNSIGNED,
                          MPI_LONG,
                          MPI_INT8_T,
                          MPI_UNSIGNED_LONG,
                          MPI_LONG_LONG,
                          MPI_INT16_T,
                          MPI_UNSIGNED_LONG_LONG,
                          MPI_INT32_T,
                          MPI_INT64_T,
                          MPI_UINT8_T,
                          MPI_UINT16_T,
                          MPI_UINT32_T,
                          MPI_UINT64_T,
                          MPI_AINT,
                          MPI_COUNT,
                          MPI_OFFSET};
const Types fortran_integers = {MPI_INTEGER,  MPI_INTEGER1, MPI_INTEGER2,
                                MPI_INTEGER4, MPI_INTEGER8, MPI_INTEGER16};
const Types reals = {MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_REAL,  MPI_DOUBLE_PRECISION,
                     MPI_REAL2, MPI_REAL4,  MPI_REAL8,       MPI_REAL16};
const Types complexes = {MPI_C_COMPLEX,
                         MPI_C_DOUBLE_COMPLEX,
                         MPI_C_LONG_DOUBLE_COMPLEX,
                         MPI_CXX_FLOAT_COMPLEX,
                         MPI_CXX_DOUBLE_COMPLEX,
                         MPI_COMPLEX,
                         MPI_DOUBLE_COMPLEX,
                         MPI_CXX_LONG_DOUBLE_COMPLEX,
                         MPI_COMPLEX4,
                         MPI_COMPLEX8,
                         MPI_COMPLEX16,
                         MPI_COMPLEX32};
const Types logicals = {MPI_C_BOOL,   MPI_CXX_BOOL, MPI_LOGICAL,  MPI_LOGICAL1,
                        MPI_LOGICAL2, MPI_LOGICAL4, MPI_LOGICAL8, MPI_LOGICAL16};
const Types pairs = {MPI_FLOAT_INT, MPI_DOUBLE_INT,        MPI_LONG_INT,
                     MPI_2INT,      MPI_SHORT_INT,         MPI_LONG_DOUBLE_INT,
                     MPI_2REAL,     MPI_2DOUBLE_PRECISION, MPI_2INTEGER};

bool expected(MPI_Op op, MPI_Datatype type) {
  const auto in = [&](std::initializer_list<const Types*> classes) {
    for (const Types* types : classes) {
      if (types->contains(type)) {
        return true;
      }
    }
    return false;
  };
  if (op == MPI_SUM || op == MPI_PROD) {
    return in({&c_integers, &fortran_integers, &reals, &complexes});
  }
  if (op == MPI_MIN || op == MPI_MAX) {
    return in({&c_integers, &fortran_integers, &reals});
  }
  if (op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR) {
    return in({&c_integers, &fortran_integers}) || type == MPI_BYTE;
  }
  if (op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR) {
    return in({&c_integers, &logicals});
  }
  return in({&pairs});
}

TEST(CheckOp, AllowsWhatMpiDefines) {
  int types = 0;
  for (Datatype* type : predefined_datatypes) {
    if (type == nullptr) {
      continue;
    }
    ++types;
    for (MPI_Op op : operators) {
      EXPECT_EQ(check_op(*resolve(op), *type),
                expected(op, type->handle()) ? MPI_SUCCESS : MPI_ERR_OP)
          << type->name << " operator " << reinterpret_cast<std::uintptr_t>(op);
    }
    EXPECT_EQ(check_op(*resolve(MPI_REPLACE), *type), MPI_ERR_OP);
  }
  EXPECT_EQ(types, 70);
}

std::mt19937 random_source(4711);

template <class T>
T draw() {
  if constexpr (std::is_same_v<T, Half>) {
    return Half(static_cast<float>(static_cast<int>(random_source() % 64) - 32) / 4);
  } else if constexpr (std::is_integral_v<T> || std::is_same_v<T, __int128>) {
    return static_cast<T>(static_cast<std::uint64_t>(random_source()) << 32 | random_source());
  } else {
    return static_cast<T>(static_cast<int>(random_source() % 2000) - 1000) / 8;
  }
}

/// Applies the library's reduction to arrays of T and compares with `naive(in, inout)`.
template <class T, class Naive>
void compare(MPI_Op op, MPI_Datatype type, Naive naive) {
  if (!expected(op, type)) {
    return;
  }
  ASSERT_EQ(resolve(type)->size, static_cast<MPI_Count>(sizeof(T)));
  for (std::size_t count : {0UL, 1UL, 3UL, 64UL, 101UL}) {
    std::vector<T> in(count);
    std::vector<T> inout(count);
    std::vector<T> wanted(count);
    for (std::size_t i = 0; i < count; ++i) {
      in[i] = draw<T>();
      inout[i] = random_source() % 4 == 0 ? in[i] : draw<T>();
      if (random_source() % 4 == 0) {
        in[i] = T(0);
      }
      wanted[i] = static_cast<T>(naive(in[i], inout[i]));
    }
    EXPECT_EQ(reduce_local(*resolve(op), in.data(), inout.data(), static_cast<MPI_Count>(count),
                           *resolve(type)),
              MPI_SUCCESS);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(inout[i] == wanted[i]) << resolve(type)->name << " operator "
                                         << reinterpret_cast<std::uintptr_t>(op) << " at " << i;
    }
  }
}

template <class T>
void integers(MPI_Datatype type) {
  using Wide = unsigned __int128;  // wraps
  compare<T>(MPI_SUM, type, [](T a, T b) { return Wide(a) + Wide(b); });
  compare<T>(MPI_PROD, type, [](T a, T b) { return Wide(a) * Wide(b); });
  compare<T>(MPI_MIN, type, [](T a, T b) { return a < b ? a : b; });
  compare<T>(MPI_MAX, type, [](T a, T b) { return a > b ? a : b; });
  compare<T>(MPI_BAND, type, [](T a, T b) { return a & b; });
  compare<T>(MPI_BOR, type, [](T a, T b) { return a | b; });
  compare<T>(MPI_BXOR, type, [](T a, T b) { return a ^ b; });
  compare<T>(MPI_LAND, type, [](T a, T b) { return a && b; });
  compare<T>(MPI_LOR, type, [](T a, T b) { return a || b; });
  compare<T>(MPI_LXOR, type, [](T a, T b) { return !a != !b; });
}

template <class T>
void real(MPI_Datatype type) {
  compare<T>(MPI_SUM, type, [](T a, T b) { return a + b; });
  compare<T>(MPI_PROD, type, [](T a, T b) { return a * b; });
  compare<T>(MPI_MIN, type, [](T a, T b) { return a < b ? a : b; });
  compare<T>(MPI_MAX, type, [](T a, T b) { return a > b ? a : b; });
}

template <class T>
void complex(MPI_Datatype type) {
  using C = std::complex<T>;
  for (MPI_Op op : {MPI_SUM, MPI_PROD}) {
    std::vector<C> in(33);
    std::vector<C> inout(33);
    std::vector<C> wanted(33);
    for (std::size_t i = 0; i < in.size(); ++i) {
      in[i] = {draw<T>(), draw<T>()};
      inout[i] = {draw<T>(), draw<T>()};
      wanted[i] = op == MPI_SUM ? in[i] + inout[i] : in[i] * inout[i];
    }
    reduce_local(*resolve(op), in.data(), inout.data(), 33, *resolve(type));
    EXPECT_EQ(inout, wanted) << resolve(type)->name;
  }
}

TEST(Reduce, EveryIntegerType) {
  for (const Types* types : {&c_integers, &fortran_integers, &logicals}) {
    for (MPI_Datatype type : *types) {
      const Datatype& object = *resolve(type);
      const bool is_unsigned = object.basic >= Basic::uint8 && object.basic <= Basic::unsigned_long;
      switch (object.size * (is_unsigned ? -1 : 1)) {
        case 1:
          if (object.basic != Basic::boolean) {
            integers<std::int8_t>(type);
          }
          break;
        case 2:
          integers<std::int16_t>(type);
          break;
        case 4:
          integers<std::int32_t>(type);
          break;
        case 8:
          integers<std::int64_t>(type);
          break;
        case 16:
          integers<__int128>(type);
          break;
        case -1:
          integers<std::uint8_t>(type);
          break;
        case -2:
          integers<std::uint16_t>(type);
          break;
        case -4:
          integers<std::uint32_t>(type);
          break;
        case -8:
          integers<std::uint64_t>(type);
          break;
        default:
          FAIL() << object.name;
      }
    }
  }
  integers<std::uint8_t>(MPI_BYTE);
}

TEST(Reduce, EveryRealAndComplexType) {
  real<float>(MPI_FLOAT);
  real<float>(MPI_REAL);
  real<float>(MPI_REAL4);
  real<double>(MPI_DOUBLE);
  real<double>(MPI_DOUBLE_PRECISION);
  real<double>(MPI_REAL8);
  real<long double>(MPI_LONG_DOUBLE);
  real<__float128>(MPI_REAL16);
  compare<Half>(MPI_SUM, MPI_REAL2, [](float a, float b) { return Half(a + b); });
  compare<Half>(MPI_PROD, MPI_REAL2, [](float a, float b) { return Half(a * b); });
  compare<Half>(MPI_MIN, MPI_REAL2, [](float a, float b) { return Half(a < b ? a : b); });
  for (MPI_Datatype type : {MPI_C_COMPLEX, MPI_CXX_FLOAT_COMPLEX, MPI_COMPLEX, MPI_COMPLEX8}) {
    complex<float>(type);
  }
  for (MPI_Datatype type :
       {MPI_C_DOUBLE_COMPLEX, MPI_CXX_DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX16}) {
    complex<double>(type);
  }
  complex<long double>(MPI_C_LONG_DOUBLE_COMPLEX);
  complex<long double>(MPI_CXX_LONG_DOUBLE_COMPLEX);

  const __float128 in[2] = {2, 3};
  __float128 inout[2] = {5, 7};
  reduce_local(*resolve(MPI_PROD), in, inout, 1, *resolve(MPI_COMPLEX32));
  EXPECT_TRUE(inout[0] == -11 && inout[1] == 29);
}

TEST(Reduce, Booleans) {
  for (MPI_Datatype type : {MPI_C_BOOL, MPI_CXX_BOOL}) {
    const bool in[4] = {false, false, true, true};
    for (const auto& [op, wanted] :
         std::map<MPI_Op, std::vector<bool>>{{MPI_LAND, {false, false, false, true}},
                                             {MPI_LOR, {false, true, true, true}},
                                             {MPI_LXOR, {false, true, true, false}}}) {
      bool inout[4] = {false, true, false, true};
      reduce_local(*resolve(op), in, inout, 4, *resolve(type));
      EXPECT_EQ(std::vector<bool>(inout, inout + 4), wanted);
    }
  }
}

template <class V, class I>
void located(Datatype& type) {
  struct Element {
    V value;
    I index;
  };
  ASSERT_EQ(type.extent, static_cast<MPI_Count>(sizeof(Element)));
  for (bool lowest : {true, false}) {
    std::vector<Element> in(50);
    std::vector<Element> inout(50);
    std::vector<Element> wanted(50);
    for (std::size_t i = 0; i < in.size(); ++i) {
      in[i].value = static_cast<V>(random_source() % 3);
      inout[i].value = static_cast<V>(random_source() % 3);
      in[i].index = static_cast<I>(random_source() % 100);
      inout[i].index = static_cast<I>(random_source() % 100);
      const Element& a = in[i];
      const Element& b = inout[i];
      const bool first = lowest ? a.value < b.value : a.value > b.value;
      wanted[i] = a.value == b.value ? Element{a.value, std::min(a.index, b.index)} : first ? a : b;
    }
    reduce_local(*resolve(lowest ? MPI_MINLOC : MPI_MAXLOC), in.data(), inout.data(), 50, type);
    for (std::size_t i = 0; i < in.size(); ++i) {
      EXPECT_EQ(inout[i].value, wanted[i].value);
      EXPECT_EQ(inout[i].index, wanted[i].index);
    }
  }
}

TEST(Reduce, Pairs) {
  located<float, int>(*resolve(MPI_FLOAT_INT));
  located<double, int>(*resolve(MPI_DOUBLE_INT));
  located<long, int>(*resolve(MPI_LONG_INT));
  located<int, int>(*resolve(MPI_2INT));
  located<short, int>(*resolve(MPI_SHORT_INT));
  located<long double, int>(*resolve(MPI_LONG_DOUBLE_INT));
  located<float, float>(*resolve(MPI_2REAL));
  located<double, double>(*resolve(MPI_2DOUBLE_PRECISION));
  located<int, int>(*resolve(MPI_2INTEGER));
}

TEST(Reduce, DerivedTypesOfOneLeaf) {
  Datatype* type = nullptr;
  ASSERT_EQ(make_vector(3000, 1, 2, *resolve(MPI_INT), Form::plain, &type), MPI_SUCCESS);
  ASSERT_EQ(commit(*type), MPI_SUCCESS);
  EXPECT_EQ(check_op(*resolve(MPI_SUM), *type), MPI_ERR_OP);
  std::vector<int> in(6000, 5);
  std::vector<int> inout(6000, 1);
  EXPECT_EQ(reduce_local(*resolve(MPI_SUM), in.data(), inout.data(), 1, *type), MPI_SUCCESS);
  for (std::size_t i = 0; i < inout.size(); ++i) {
    ASSERT_EQ(inout[i], i % 2 == 0 ? 6 : 1);
  }
  drop(type);
}

struct Seen {
  MPI_Datatype type;
  MPI_Count elements;
  int calls;
} seen;

void count_calls(void*, void*, int* count, MPI_Datatype* type) {
  seen = {*type, seen.elements + *count, seen.calls + 1};
}
void count_large_calls(void*, void*, MPI_Count* count, MPI_Datatype* type) {
  seen = {*type, seen.elements + *count, seen.calls + 1};
}

TEST(UserOp, GetsHandleAndCount) {
  Op op(Op::Code::user);
  op.user = count_calls;
  EXPECT_EQ(check_op(op, *resolve(MPI_CHARACTER)), MPI_SUCCESS);
  char byte = 0;
  seen = {};
  reduce_local(op, &byte, &byte, 7, *resolve(MPI_INT));
  EXPECT_EQ(seen.type, MPI_INT);
  EXPECT_EQ(seen.elements, 7);
  seen = {};
  const MPI_Count many = MPI_Count{5} << 30;
  reduce_local(op, &byte, &byte, many, *resolve(MPI_BYTE));
  EXPECT_EQ(seen.elements, many);
  EXPECT_EQ(seen.calls, 3);
  Op large(Op::Code::user);
  large.user_large = count_large_calls;
  seen = {};
  reduce_local(large, &byte, &byte, many, *resolve(MPI_BYTE));
  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(seen.elements, many);
}

TEST(Half, RoundsToNearestEven) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half = std::bit_cast<Half>(static_cast<std::uint16_t>(bits));
    const float wide = half;
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(Half(wide))));
      continue;
    }
    const Half again(wide);
    EXPECT_EQ(std::bit_cast<std::uint16_t>(again), bits);
  }
  EXPECT_EQ(static_cast<float>(Half(2049.0F)), 2048.0F);  // ties to even
  EXPECT_EQ(static_cast<float>(Half(2051.0F)), 2052.0F);
  EXPECT_EQ(static_cast<float>(Half(65519.0F)), 65504.0F);
  EXPECT_TRUE(std::isinf(static_cast<float>(Half(65520.0F))));
  EXPECT_EQ(static_cast<float>(Half(0x1p-25F)), 0.0F);
  EXPECT_EQ(static_cast<float>(Half(0x1.8p-25F)), 0x1p-24F);
}

}  // namespace
}  // namespace meantime::test
