// What the ops on strings share.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "systole/graph/core/host_op.h"

namespace systole {

// Equal, NotEqual: any dtype that a device holds, or strings, broadcast. -> pred
std::vector<TensorType> infer_equality(const InferContext& c);
// Errors: INVALID_ARGUMENT `<what>, got f32[2], expected strings`.
void check_strings(std::string_view what, const TensorType& type);
// Errors: INVALID_ARGUMENT unless a string, and a scalar.
void check_text(std::string_view what, const TensorType& type);
// Errors: INVALID_ARGUMENT unless what a device can hold, or string.
void check_any_or_string(std::string_view what, DType dtype);

// Strings -> kResult at the same shape: for ops that look at each string alone.
template <DType kResult>
std::vector<TensorType> infer_string_map(const InferContext& c) {
  check_strings("input", c.input(0));
  return {{kResult, c.input(0).shape}};
}

// The kernel of such an op: f(string) -> element, for each.
template <class To, class F>
Tensor map_strings(const Tensor& input, const F& f) {
  Tensor result(dtype_of<To>(), input.shape());
  std::ranges::transform(input.data<std::string>(), result.data<To>().begin(), f);
  return result;
}

}  // namespace systole
