#include "systole/graph/core/composition.h"
#include "systole/graph/lowering/specialize.h"
#include "systole/graph/ops/tpu/tpu_groups.h"

namespace systole {
namespace {

std::vector<TensorType> infer_all_gather_rows(const InferContext& c) {
  check_groups_input(c, 1);
  TensorType type = c.input(0);
  if (type.shape.rank() < 1) throw invalid_argument("input, got {}, expected rows", type);
  // How many replicas there are is known when the program is compiled.
  type.shape.set_dim(0, kUnknown);
  return {type};
}

std::vector<hlo::Value> lower_all_gather_rows(LowerContext& c) {
  const hlo::Value x = c.input(0);
  const hlo::AllGatherAttrs attrs{.all_gather_dim = 0, .groups = collective_attrs(c, 1)};
  const int64_t listed = attrs.groups.replica_groups.dim(1);
  const int64_t replicas = listed > 0 ? listed : c.lowering.num_replicas();
  if (replicas == 1) return {x};
  TensorType type = x.type();
  type.shape.set_dim(0, type.shape[0] * replicas);
  return {c.b.op(hlo::Opcode::all_gather, {x}, attrs, {type})->result()};
}

}  // namespace

namespace tpu {

Output all_gather(const Input& x, const CrossReplicaSumOptions& options) {
  constexpr std::string_view kOp = "AllGather";
  const CompositionScope scope(x, options.name, kOp);
  const Output value = resolve(kOp, x);
  const Output groups = group_constant(kOp, options.group_assignment, x.where());
  return Graph::current()
      .add_node(kOp, {value, groups}, {{"T", value.dtype()}}, x.where(), scope.result().name)
      ->output();
}

}  // namespace tpu

namespace ops {
extern const OpDef op_all_gather{
    .name = "AllGather",
    .doc = "The rows of all replicas of a group, in the order of the replicas.",
    .inputs = "input: T, group_assignment: int32",
    .outputs = "output: T",
    .graph_def = {.tensorflow = TensorFlowOp::none},
    .infer = infer_all_gather_rows,
    .lower = lower_all_gather_rows,
};
}  // namespace ops
}  // namespace systole
