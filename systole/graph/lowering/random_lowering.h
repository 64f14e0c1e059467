// Random bits and what distributions are made of, in HLO.
#pragma once

#include "systole/graph/core/op_def.h"

namespace systole {

// The shape, input 0, of a random op. Inference adds the dtype attribute. Errors: a dtype that is
// no `floating` one.
std::vector<TensorType> infer_random(const InferContext& c);

// Random bits of the node: u32, u64... of `shape`. One node may draw once only.
hlo::Value random_bits(LowerContext& c, DType dtype, const Shape& shape);

// Uniform in [0, 1): `dtype`'s mantissa filled with random bits, as TensorFlow does.
hlo::Value uniform_from_mantissa(LowerContext& c, DType dtype, const Shape& shape);

// x * scale + offset, all of them scalars.
hlo::Value affine(hlo::Builder& b, hlo::Value x, double scale, double offset);

// The shape that input 0 holds.
Shape random_shape(LowerContext& c);

// f64 for f64, f32 for narrower types: what distributions are computed in.
DType computing_dtype(DType dtype);

}  // namespace systole
