#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/tpu_collectives.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_def.h"

namespace systole {
namespace {

std::vector<TensorType> infer_collective_permute(const InferContext& c) {
  const TensorType& pairs = c.input(1);
  const Shape wanted{kUnknown, 2};
  if (pairs.dtype != DType::s32 || pairs.shape.rank() != 2 ||
      !pairs.shape.compatible_with(wanted)) {
    throw invalid_argument("source_target_pairs, got {}, expected s32[?,2]", pairs);
  }
  return {c.input(0)};
}

std::vector<hlo::Value> lower_collective_permute(LowerContext& c) {
  const std::vector<int64_t> ids = c.constant_ints(1);
  hlo::CollectivePermuteAttrs attrs;
  for (size_t i = 0; i + 1 < ids.size(); i += 2) {
    attrs.source_target_pairs.emplace_back(ids[i], ids[i + 1]);
  }
  return {c.b.op(hlo::Opcode::collective_permute, {c.input(0)}, attrs)->result()};
}

Output add_permute(const Output& x, const Output& pairs, SourceLocation where = {},
                   std::string_view name = {}) {
  return Graph::current()
      .add_node("CollectivePermute", {x, pairs}, {{"T", x.dtype()}}, where, name)
      ->output();
}

// Against the arrows.
std::vector<Output> collective_permute_gradient(GradientContext& c) {
  return {add_permute(c.grad(), reverse(c.input(1), {1})), Output()};
}

}  // namespace

namespace tpu {

Output collective_permute(const Input& x,
                          const std::vector<std::pair<int64_t, int64_t>>& source_target_pairs,
                          const NameOptions& options) {
  const CompositionScope scope(x, options.name, "CollectivePermute");
  std::vector<int32_t> ids;
  for (const auto& [source, target] : source_target_pairs) {
    ids.push_back(static_cast<int32_t>(source));
    ids.push_back(static_cast<int32_t>(target));
  }
  const Shape shape{static_cast<int64_t>(source_target_pairs.size()), 2};
  const Output pairs =
      constant(Input(Tensor::of<int32_t>(shape, ids)), {.name = "source_target_pairs"});
  return add_permute(resolve("CollectivePermute", x), pairs, x.where(), scope.result().name);
}

}  // namespace tpu

namespace ops {
extern const OpDef op_collective_permute{
    .name = "CollectivePermute",
    .doc = "The tensor of another replica.",
    .inputs = "input: T, source_target_pairs: int32",
    .outputs = "output: T",
    .infer = infer_collective_permute,
    .lower = lower_collective_permute,
    .gradient = collective_permute_gradient,
};
}  // namespace ops
}  // namespace systole
