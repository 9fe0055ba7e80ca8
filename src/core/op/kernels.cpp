#include "core/op/kernels.h"

#include <cstdint>
#include <type_traits>

#include "core/op/half.h"

namespace meantime {

namespace {

#ifdef __SIZEOF_FLOAT128__
using Quad = __float128;
#else
using Quad = long double;
#endif
using Int128 = __int128;

template <class T>
struct Complex {
  T real;
  T imaginary;
};

template <class T>
struct Wrapping {  // signed overflow wraps instead of being undefined
  using type = T;
};
template <class T>
requires std::is_integral_v<T> || std::is_same_v<T, Int128>
struct Wrapping<T> {
  // Narrower ones would be promoted to int, whose product may overflow.
  using type = std::conditional_t<
      (sizeof(T) < sizeof(unsigned)), unsigned,
      std::conditional_t<sizeof(T) == 16, unsigned __int128,
                         std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>>;
};

// --- One element: `a` is of `in`, `b` of `inout`

struct Sum {
  template <class T>
  static T apply(T a, T b) {
    using W = typename Wrapping<T>::type;
    return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
  }
  static Half apply(Half a, Half b) { return Half(static_cast<float>(a) + static_cast<float>(b)); }
  template <class T>
  static Complex<T> apply(Complex<T> a, Complex<T> b) {
    return {apply(a.real, b.real), apply(a.imaginary, b.imaginary)};
  }
};

struct Product {
  template <class T>
  static T apply(T a, T b) {
    using W = typename Wrapping<T>::type;
    return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
  }
  static Half apply(Half a, Half b) { return Half(static_cast<float>(a) * static_cast<float>(b)); }
  template <class T>
  static Complex<T> apply(Complex<T> a, Complex<T> b) {
    return {a.real * b.real - a.imaginary * b.imaginary,
            a.real * b.imaginary + a.imaginary * b.real};
  }
  static Complex<Half> apply(Complex<Half> a, Complex<Half> b) {
    const Complex<float> wide =
        apply(Complex<float>{a.real, a.imaginary}, Complex<float>{b.real, b.imaginary});
    return {Half(wide.real), Half(wide.imaginary)};
  }
};

struct Minimum {
  template <class T>
  static T apply(T a, T b) {
    return a < b ? a : b;
  }
};
struct Maximum {
  template <class T>
  static T apply(T a, T b) {
    return a > b ? a : b;
  }
};
struct BitAnd {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
// Without short cuts, so that they vectorise. True is 1, in C as in gfortran.
struct LogicalAnd {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>((a != 0) & (b != 0));
  }
};
struct LogicalOr {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>((a != 0) | (b != 0));
  }
};
struct LogicalXor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>((a != 0) ^ (b != 0));
  }
};

template <class Operation, class T>
void reduce(const void* in, void* inout, MPI_Count count) {
  const T* __restrict a = static_cast<const T*>(in);
  T* __restrict b = static_cast<T*>(inout);
  for (MPI_Count i = 0; i < count; ++i) {
    b[i] = Operation::apply(a[i], b[i]);
  }
}

// --- Which representations an operation has

template <class Operation>
Kernel on_integers(Basic basic) {
  switch (basic) {
    case Basic::int8:
    case Basic::fortran_int8:
      return reduce<Operation, std::int8_t>;
    case Basic::int16:
    case Basic::fortran_int16:
      return reduce<Operation, std::int16_t>;
    case Basic::int32:
    case Basic::fortran_int32:
      return reduce<Operation, std::int32_t>;
    case Basic::int64:
    case Basic::long_integer:
    case Basic::fortran_int64:
      return reduce<Operation, std::int64_t>;
    case Basic::uint8:
      return reduce<Operation, std::uint8_t>;
    case Basic::uint16:
      return reduce<Operation, std::uint16_t>;
    case Basic::uint32:
      return reduce<Operation, std::uint32_t>;
    case Basic::uint64:
    case Basic::unsigned_long:
      return reduce<Operation, std::uint64_t>;
    case Basic::fortran_int128:
      return reduce<Operation, Int128>;
    default:
      return nullptr;
  }
}

template <class Operation>
Kernel on_reals(Basic basic) {
  switch (basic) {
    case Basic::float16:
      return reduce<Operation, Half>;
    case Basic::float32:
      return reduce<Operation, float>;
    case Basic::float64:
      return reduce<Operation, double>;
    case Basic::long_double:
      return reduce<Operation, long double>;
    case Basic::float128:
      return reduce<Operation, Quad>;
    default:
      return on_integers<Operation>(basic);
  }
}

template <class Operation>
Kernel on_numbers(Basic basic) {
  switch (basic) {
    case Basic::complex_float16:
      return reduce<Operation, Complex<Half>>;
    case Basic::complex_float32:
      return reduce<Operation, Complex<float>>;
    case Basic::complex_float64:
      return reduce<Operation, Complex<double>>;
    case Basic::complex_long_double:
      return reduce<Operation, Complex<long double>>;
    case Basic::complex_float128:
      return reduce<Operation, Complex<Quad>>;
    default:
      return on_reals<Operation>(basic);
  }
}

template <class Operation>
Kernel on_bits(Basic basic) {
  return basic == Basic::byte ? reduce<Operation, std::uint8_t> : on_integers<Operation>(basic);
}

/// C integers and logicals; Fortran's integers are no logical values.
template <class Operation>
Kernel on_logicals(Basic basic) {
  switch (basic) {
    case Basic::boolean:
      return reduce<Operation, bool>;
    case Basic::logical8:
      return reduce<Operation, std::int8_t>;
    case Basic::logical16:
      return reduce<Operation, std::int16_t>;
    case Basic::logical32:
      return reduce<Operation, std::int32_t>;
    case Basic::logical64:
      return reduce<Operation, std::int64_t>;
    case Basic::logical128:
      return reduce<Operation, Int128>;
    default:
      return basic >= Basic::int8 && basic <= Basic::unsigned_long ? on_integers<Operation>(basic)
                                                                   : nullptr;
  }
}

// --- Pairs

template <class Value, class Index>
struct Located {
  Value value;
  Index index;
};

/// The better value wins; of equal ones the lower index. Padding is left alone.
template <bool lowest, class Value, class Index>
void locate(const void* in, void* inout, MPI_Count count) {
  using Element = Located<Value, Index>;
  const Element* __restrict a = static_cast<const Element*>(in);
  Element* __restrict b = static_cast<Element*>(inout);
  for (MPI_Count i = 0; i < count; ++i) {
    const bool better = lowest ? a[i].value < b[i].value : a[i].value > b[i].value;
    if (better || (a[i].value == b[i].value && a[i].index < b[i].index)) {
      b[i].value = a[i].value;
      b[i].index = a[i].index;
    }
  }
}

template <bool lowest>
Kernel on_pairs(Basic value, Basic index) {
  switch (value) {
    case Basic::int16:
      return locate<lowest, std::int16_t, int>;
    case Basic::int32:
    case Basic::fortran_int32:
      return locate<lowest, std::int32_t, int>;
    case Basic::int64:
    case Basic::long_integer:
      return locate<lowest, std::int64_t, int>;
    case Basic::float32:  // with itself: MPI_2REAL
      return index == value ? locate<lowest, float, float> : locate<lowest, float, int>;
    case Basic::float64:
      return index == value ? locate<lowest, double, double> : locate<lowest, double, int>;
    case Basic::long_double:
      return locate<lowest, long double, int>;
    default:
      return nullptr;
  }
}

}  // namespace

Kernel kernel_of(Op::Code code, Basic basic) {
  switch (code) {
    case Op::Code::sum:
      return on_numbers<Sum>(basic);
    case Op::Code::prod:
      return on_numbers<Product>(basic);
    case Op::Code::min:
      return on_reals<Minimum>(basic);
    case Op::Code::max:
      return on_reals<Maximum>(basic);
    case Op::Code::band:
      return on_bits<BitAnd>(basic);
    case Op::Code::bor:
      return on_bits<BitOr>(basic);
    case Op::Code::bxor:
      return on_bits<BitXor>(basic);
    case Op::Code::land:
      return on_logicals<LogicalAnd>(basic);
    case Op::Code::lor:
      return on_logicals<LogicalOr>(basic);
    case Op::Code::lxor:
      return on_logicals<LogicalXor>(basic);
    default:
      return nullptr;
  }
}

Kernel pair_kernel_of(Op::Code code, Basic value, Basic index) {
  switch (code) {
    case Op::Code::minloc:
      return on_pairs<true>(value, index);
    case Op::Code::maxloc:
      return on_pairs<false>(value, index);
    default:
      return nullptr;
  }
}

}  // namespace meantime
