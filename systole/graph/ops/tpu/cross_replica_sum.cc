#include "systole/graph/core/composition.h"
#include "systole/graph/ops/tpu/tpu_groups.h"

namespace systole {
namespace {

std::vector<TensorType> infer_cross_replica_sum(const InferContext& c) {
  check_dtype("dtype", c.input(0).dtype, DTypeClass::number);
  check_groups_input(c, 1);
  return {c.input(0)};
}

std::vector<hlo::Value> lower_cross_replica_sum(LowerContext& c) {
  const hlo::Value x = c.input(0);
  hlo::Instruction* const sum = c.b.op_with_regions(
      hlo::Opcode::all_reduce, {x}, collective_attrs(c, 1), [&](hlo::Instruction& op) {
        hlo::fill_reducer(op.add_region(), hlo::Opcode::add, x.dtype());
      });
  return {sum->result()};
}

Output add_sum(const Output& x, const Output& groups, SourceLocation where = {},
               std::string_view name = {}) {
  return Graph::current()
      .add_node("CrossReplicaSum", {x, groups}, {{"T", x.dtype()}}, where, name)
      ->output();
}

}  // namespace

namespace tpu {

Output cross_replica_sum(const Input& x, const CrossReplicaSumOptions& options) {
  const CompositionScope scope(x, options.name, "CrossReplicaSum");
  const Output value = resolve("CrossReplicaSum", x);
  return add_sum(value, group_constant("CrossReplicaSum", options.group_assignment, x.where()),
                 x.where(), scope.result().name);
}

}  // namespace tpu

namespace ops {
extern const OpDef op_cross_replica_sum{
    .name = "CrossReplicaSum",
    .doc = "The sum over the replicas of a group.",
    .inputs = "input: T, group_assignment: int32",
    .outputs = "output: T",
    .infer = infer_cross_replica_sum,
    .lower = lower_cross_replica_sum,
    .gradient =
        [](GradientContext& c) {
          return std::vector{add_sum(c.grad(), c.input(1)), Output()};
        },
};
}  // namespace ops
}  // namespace systole
