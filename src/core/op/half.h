// IEEE binary16 for compilers that have no _Float16 in C++ (GCC 12, Clang 14): stored as its bits,
// computed in float, rounded to nearest even.
#pragma once

#include <bit>
#include <cstdint>

namespace meantime {

class Half {
 public:
  Half() = default;
  explicit Half(float value) : bits_(round(value)) {}
  operator float() const { return widen(bits_); }  // NOLINT: implicit like _Float16

 private:
  static float widen(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000U) << 16;
    const std::uint32_t exponent = (half >> 10) & 0x1fU;
    const std::uint32_t fraction = half & 0x3ffU;
    if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, exact in float
      const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
      return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
    }
    const std::uint32_t wide = exponent == 31 ? 255 : exponent + (127 - 15);
    return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
  }

  static std::uint16_t round(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) {  // not a number: stays one
      return static_cast<std::uint16_t>(sign | 0x7e00U | ((magnitude >> 13) & 0x3ffU));
    }
    if (magnitude >= 0x477ff000U) {  // 65520 and more round to infinity
      return static_cast<std::uint16_t>(sign | 0x7c00U);
    }
    if (magnitude < 0x38800000U) {  // subnormal: let float's addition round at bit 2^-24
      const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
      return static_cast<std::uint16_t>(sign |
                                        (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U));
    }
    const std::uint32_t odd = (magnitude >> 13) & 1U;
    const std::uint32_t rounded = magnitude - ((127U - 15U) << 23) + 0xfffU + odd;
    return static_cast<std::uint16_t>(sign | rounded >> 13);
  }

  std::uint16_t bits_;
};

}  // namespace meantime
