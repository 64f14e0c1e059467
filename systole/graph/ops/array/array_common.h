// What the array ops share.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/core/op_def.h"

namespace systole {

// An integer input that must be known while building. Errors: INVALID_ARGUMENT `<what>, got s32[?],
// expected integers known while building`.
std::vector<int64_t> known_ints(const InferContext& c, int input, std::string_view what);
// A constant vector (or scalar) of s32, or s64 where a value needs it.
Output ints_constant(const std::vector<int64_t>& values, std::string_view name = "Const");
Output int_constant(int64_t value, std::string_view name = "Const");
// The same of a node that was inferred already.
std::vector<int64_t> known_ints(Output value);

// The attribute out_type of an op that tells sizes. Errors: INVALID_ARGUMENT unless s32 or s64.
DType size_type(const InferContext& c);

// A size of the tensor, known when the program is compiled: s32[].
Output size_at(Output x, int axis);

Shape without_axis(const Shape& shape, int axis);
Shape with_axis(const Shape& shape, int axis, int64_t size);
// Without these axes, which count from the end where they are negative. Errors: INVALID_ARGUMENT
// when the size of one is known and not 1.
Shape squeezed(const Shape& x, const std::vector<int64_t>& axes);
// `x` with the dimensions that `declared` knows. Errors: INVALID_ARGUMENT when they contradict.
Shape ensured(Shape x, const Shape& declared);

// `axis` in [-rank, rank) -> [0, rank). Errors: INVALID_ARGUMENT `axis, got 3, expected in [-2,
// 2)`.
int checked_axis(int64_t axis, int rank);

// x itself, or as s32 where its dtype is narrower: it then holds every size of a tensor.
hlo::Value wide_integers(hlo::Builder& b, hlo::Value x);
// Splits x into consecutive parts along `axis`. REQUIRES: sizes >= 0, their sum x's size there.
std::vector<hlo::Value> cut(hlo::Builder& b, hlo::Value x, int axis,
                            std::span<const int64_t> sizes);

// pad() by paddings that are a tensor, s32[rank,2], known when the program is compiled.
Output pad_tensor(Output x, Output paddings, double value, const std::string& name = "");

}  // namespace systole
