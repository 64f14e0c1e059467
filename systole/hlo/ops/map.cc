#include "systole/base/error.h"
#include "systole/hlo/ir/signature.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/lifted_region.h"

namespace systole::hlo::ops {
namespace {

// C2 (at least one input) is a column of the opcode table.
std::vector<TensorType> infer_map(const InferContext& context) {
  const Shape& shape = context.operand(0).shape;
  std::vector<TensorType> scalars;
  for (int i = 0; i < context.num_operands(); ++i) {
    check_shape(context.opcode, fmt::format("input {}", i), context.operand(i).shape, shape);  // C1
    scalars.push_back({context.operand(i).dtype, {}});
  }
  const Dims& dimensions = context.get<DimensionsAttrs>().dimensions;
  if (dimensions != other_axes(shape.rank(), {})) {  // C3
    throw invalid_argument("map: dimensions, got {}, expected all axes of {} in order",
                           to_string(dimensions), shape);
  }
  const Computation& computation = *context.regions[0];
  check_types("map", "parameter types of region 0", parameter_types(computation), scalars);  // C4
  const std::vector<TensorType> results = result_types(computation);
  if (results.size() != 1 || results[0].shape.rank() != 0) {
    throw invalid_argument("map: result types of region 0, got {}, expected one scalar",
                           to_string(results));
  }
  return {{results[0].dtype, shape}};
}

std::vector<Tensor> evaluate_map(const Instruction& instruction, std::span<const Tensor> operands,
                                 const Evaluator& evaluator) {
  return LiftedRegion(instruction.region(), evaluator).apply(operands);
}

}  // namespace

extern const OpSemantics map_semantics{
    .infer = infer_map,
    .evaluate = evaluate_map,
    .example = OpExample{.parameters = "%a: tensor<4x$T>, %b: tensor<4x$T>",
                         .results = "tensor<4x$T>",
                         .body = R"(%r = "stablehlo.map"(%a, %b) ({
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.add"(%x, %y) : (tensor<$T>, tensor<$T>) -> tensor<$T>
  "stablehlo.return"(%z) : (tensor<$T>) -> ()
}) {dimensions = array<i64: 0>} : (tensor<4x$T>, tensor<4x$T>) -> tensor<4x$T>)"},
    .vectorize = replicas::vectorize_map,
    .shard = spmd::shard_alike};

}  // namespace systole::hlo::ops
