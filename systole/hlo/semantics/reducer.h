// Combines elements in reductions and scatters. A region may be any program, and evaluating it
// costs microseconds per element; the most common regions are functions here.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "systole/base/convert.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/index.h"

namespace systole::hlo {

namespace reducer_detail {
template <class T>
consteval auto accumulator() {
  using convert_detail::is_complex_type;
  if constexpr (std::is_same_v<T, bool>) {
    return bool{};
  } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return float{};
  } else if constexpr (std::is_floating_point_v<T> || is_complex_type<T>) {
    return T{};
  } else if constexpr (is_signed_integer<T>) {
    return int64_t{};
  } else {
    return uint64_t{};
  }
}
}  // namespace reducer_detail

// The type in which elements of T are combined: f32 for f16 and bf16, 64 bits for integers.
template <class T>
using Accumulator = decltype(reducer_detail::accumulator<T>());

// When f16 and bf16 are rounded. The specification rounds after each step, but then sums of bf16
// stop growing at 256 times a term, and no device does so. `reduce` rounds once at the end, which
// is more exact. Windows are small; they round as the specification says.
enum class Rounding : uint8_t { at_end, each_step };

// Returns the function of a region that is one add, multiply, maximum, minimum, and, or, or xor of
// its two parameters and is defined for A, an Accumulator; otherwise nullptr.
template <class A>
A (*combiner_of(const Computation& region))
(A, A);

// Computes accumulator[to(i)] = body(accumulator[to(i)], inputs[from(i)]) for every multi-index i
// below `extents` in row-major order, and returns the accumulators. They start as `initial_values`.
// Inputs have the same shape.
std::vector<Tensor> reduce_strided(const Instruction& instruction, const Evaluator& evaluator,
                                   std::span<const Tensor> inputs,
                                   std::span<const Tensor> initial_values,
                                   std::span<const int64_t> extents, const StridedView& from,
                                   const StridedView& to, Rounding rounding);

// Reads an element as a scalar, and writes it.
Tensor element(const Tensor& tensor, int64_t offset);
void set_element(Tensor& tensor, int64_t offset, const Tensor& scalar);
void copy_element(Tensor& to, int64_t to_offset, const Tensor& from, int64_t from_offset);

}  // namespace systole::hlo
