#include "systole/graph/ops/array/array_common.h"

namespace systole::ops {
namespace {

std::vector<TensorType> infer_tpu_replicated_output(const InferContext& c) {
  return std::vector<TensorType>(static_cast<size_t>(c.attr<int64_t>("num_replicas")), c.input(0));
}

std::vector<hlo::Value> lower_tpu_replicated_output(LowerContext& c) {
  const hlo::Value x = c.input(0);
  const int64_t count = c.attr<int64_t>("num_replicas");
  Dims dims = x.shape().dims();
  dims.insert(dims.begin(), 1);
  const hlo::Value row = c.b.reshape(x, Shape(dims));
  dims[0] = count;
  hlo::AllGatherAttrs attrs;
  attrs.groups.replica_groups = Tensor(DType::s64, {0, 0});
  const hlo::Value all =
      c.b.op(hlo::Opcode::all_gather, {row}, attrs, {{x.dtype(), Shape(dims)}})->result();
  const std::vector<int64_t> ones(static_cast<size_t>(count), 1);
  std::vector<hlo::Value> results = cut(c.b, all, 0, ones);
  for (hlo::Value& result : results) result = c.b.reshape(result, x.shape());
  return results;
}

}  // namespace

extern const OpDef op_tpu_replicated_output{
    .name = "TPUReplicatedOutput",
    .doc = "What each replica has computed.",
    .inputs = "input: T",
    .outputs = "outputs: num_replicas * T",
    .infer = infer_tpu_replicated_output,
    .lower = lower_tpu_replicated_output,
};

}  // namespace systole::ops
