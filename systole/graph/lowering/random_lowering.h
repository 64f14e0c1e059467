// Random bits and what distributions are made of, in HLO.
#pragma once

#include "systole/graph/core/op_def.h"

namespace systole {

// The shape, input 0, of a random op. Inference adds the dtype attribute. Errors: a dtype that is
// no `floating` one.
std::vector<TensorType> infer_random(const InferContext& c);

// The order in which nodes with seeds draw, and what a run takes of their streams, is that of
// TensorFlow's CPU kernels, so that the numbers are TensorFlow's. (core/kernels/random_op.cc,
// core/lib/random/random_distributions.h)

// The 128-bit blocks that a run which makes `outputs` numbers takes of its stream.
// (GuardedPhiloxRandom::ReserveRandomOutputs)
constexpr uint64_t reserved_blocks(int64_t outputs) { return static_cast<uint64_t>(outputs) * 256; }

// Random bits of the node: u32, u64... of `shape`, consecutive in its stream, of which a run takes
// `blocks`. One node may draw once only.
hlo::Value random_bits(LowerContext& c, DType dtype, const Shape& shape, uint64_t blocks);

// u32[groups, 4 * blocks_of_group]: for group g the words from block g * stride of the node's
// stream on. For programs of one replica.
struct GroupedWords {
  int64_t groups = 0;
  int64_t blocks_of_group = 0;
  int64_t stride = 0;
  uint64_t blocks = 0;  // that a run takes
};
hlo::Value grouped_random_words(LowerContext& c, const GroupedWords& wanted);

// The word type of 32 or 64 bits whose low bits make a number of `dtype`.
DType word_of(DType dtype);
// Uniform in [0, 1): the mantissa of `dtype` filled with the low bits of words of word_of(dtype).
hlo::Value uniform_from_words(hlo::Builder& b, hlo::Value words, DType dtype);
// The same of the node's next words.
hlo::Value uniform_from_mantissa(LowerContext& c, DType dtype, const Shape& shape);

// Standard normal numbers [..., 2] of pairs [..., 2] of words of word_of(dtype). Source: Box and
// Muller, "A note on the generation of random normal deviates", 1958.
hlo::Value normal_from_words(hlo::Builder& b, hlo::Value words, DType dtype);

// x * scale + offset, all of them scalars.
hlo::Value affine(hlo::Builder& b, hlo::Value x, double scale, double offset);

// The shape that input 0 holds.
Shape random_shape(LowerContext& c);

// f64 for f64, f32 for narrower types: what distributions are computed in.
DType computing_dtype(DType dtype);

}  // namespace systole
