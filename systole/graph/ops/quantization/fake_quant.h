// Inference, lowering and gradients of the fake_quant ops.
#pragma once

#include <string_view>
#include <vector>

#include "systole/graph/api/quantization_ops.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/op_def.h"

namespace systole {

// Where the range comes from: attributes, scalar inputs, or vector inputs of the last dimension.
enum class FakeQuantKind : uint8_t { args, vars, per_channel };

// inputs, or gradients and inputs; then the range.
std::vector<TensorType> infer_fake_quant(const InferContext& c, FakeQuantKind kind);
std::vector<TensorType> infer_fake_quant_gradient(const InferContext& c, FakeQuantKind kind);
std::vector<hlo::Value> lower_fake_quant(LowerContext& c, FakeQuantKind kind);
std::vector<hlo::Value> lower_fake_quant_gradient(LowerContext& c, FakeQuantKind kind);

template <FakeQuantKind kKind>
std::vector<TensorType> infer_fake_quant(const InferContext& c) {
  return infer_fake_quant(c, kKind);
}
template <FakeQuantKind kKind>
std::vector<TensorType> infer_fake_quant_gradient(const InferContext& c) {
  return infer_fake_quant_gradient(c, kKind);
}
template <FakeQuantKind kKind>
std::vector<hlo::Value> lower_fake_quant(LowerContext& c) {
  return lower_fake_quant(c, kKind);
}
template <FakeQuantKind kKind>
std::vector<hlo::Value> lower_fake_quant_gradient(LowerContext& c) {
  return lower_fake_quant_gradient(c, kKind);
}

// The options that a node's attributes say, to build its gradient.
quantization::FakeQuantOptions fake_quant_options(const GradientContext& c);

// Adds a node of f32 inputs at the line of the first.
Node* add_fake_quant(std::string_view op, InputRefs inputs, std::string_view name, AttrMap attrs);

AttrMap fake_quant_attrs(const quantization::FakeQuantOptions& options);
AttrMap fake_quant_attrs(const quantization::FakeQuantArgsOptions& options);

}  // namespace systole
