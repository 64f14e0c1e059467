// How reductions and scatters combine elements. A region may be any program, and running it costs
// microseconds an element; the ones that nearly every program uses are functions here.
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
  } else if constexpr (std::is_signed_v<T> || std::is_same_v<T, int4>) {
    return int64_t{};
  } else {
    return uint64_t{};
  }
}
}  // namespace reducer_detail

// What elements of T are combined in: f32 for f16 and bf16, 64 bits for integers.
template <class T>
using Accumulator = decltype(reducer_detail::accumulator<T>());

// When f16 and bf16 are rounded. The specification's reducer rounds at each step; but sums of bf16
// then stop to grow at 256 times a term, and no device computes them so. `reduce` takes one
// rounding at the end, nearer to the sum; windows are small, and there results are the
// specification's.
enum class Rounding : uint8_t { at_end, each_step };

// The function of a region that is one add, multiply, maximum, minimum, and, or, xor of its two
// parameters and that is defined for A, an Accumulator; nullptr for any other region.
template <class A>
A (*combiner_of(const Computation& region))
(A, A);

// accumulator[to(i)] = body(accumulator[to(i)], inputs[from(i)]) for every multi-index i below
// `extents` in row-major order, where accumulators begin as `initial_values` everywhere and then
// are the results. Inputs have one shape.
std::vector<Tensor> reduce_strided(const Instruction& instruction, const Evaluator& evaluator,
                                   std::span<const Tensor> inputs,
                                   std::span<const Tensor> initial_values,
                                   std::span<const int64_t> extents, const StridedView& from,
                                   const StridedView& to, Rounding rounding);

// One element as a scalar, and back.
Tensor element(const Tensor& tensor, int64_t offset);
void set_element(Tensor& tensor, int64_t offset, const Tensor& scalar);
void copy_element(Tensor& to, int64_t to_offset, const Tensor& from, int64_t from_offset);

}  // namespace systole::hlo
