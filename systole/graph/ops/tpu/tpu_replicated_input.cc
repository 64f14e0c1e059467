#include <algorithm>

#include "systole/graph/ops/array/array_common.h"

namespace systole::ops {
namespace {

std::vector<TensorType> infer_tpu_replicated_input(const InferContext& c) {
  TensorType type = c.input(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    for (int axis = 0; axis < type.shape.rank(); ++axis) {
      if (c.input(i).shape[axis] != kUnknown) type.shape.set_dim(axis, c.input(i).shape[axis]);
    }
  }
  return {type};
}

// Row replica_id of all inputs in one array.
std::vector<hlo::Value> lower_tpu_replicated_input(LowerContext& c) {
  const hlo::Value first = c.input(0);
  if (std::ranges::all_of(c.inputs, [&](hlo::Value x) { return x == first; })) return {first};
  Dims dims = first.shape().dims();
  dims.insert(dims.begin(), 1);
  std::vector<hlo::Value> rows;
  for (const hlo::Value& input : c.inputs) rows.push_back(c.b.reshape(input, Shape(dims)));
  const hlo::Value all = c.b.concatenate(rows, 0);
  const hlo::Value id = c.b.convert(c.b.op(hlo::Opcode::replica_id, {})->result(), DType::s32);
  std::vector<hlo::Value> starts(dims.size(), c.b.scalar(DType::s32, 0));
  starts[0] = id;
  return {c.b.reshape(c.b.dynamic_slice(all, starts, dims), first.shape())};
}

// Each replica's gradient belongs to its own input.
std::vector<Output> tpu_replicated_input_gradient(GradientContext& c) {
  return Graph::current()
      .add_node(
          "TPUReplicatedOutput", {c.grad()},
          {{"num_replicas", static_cast<int64_t>(c.node.num_inputs())}, {"T", c.grad().dtype()}})
      ->outputs();
}

}  // namespace

extern const OpDef op_tpu_replicated_input{
    .name = "TPUReplicatedInput",
    .doc = "The input of the replica that runs it.",
    .inputs = "inputs: num_replicas * T",
    .outputs = "output: T",
    .infer = infer_tpu_replicated_input,
    .lower = lower_tpu_replicated_input,
    .gradient = tpu_replicated_input_gradient,
};

}  // namespace systole::ops
