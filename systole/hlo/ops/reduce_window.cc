#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/reducer.h"
#include "systole/hlo/semantics/window.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_reduce_window(const InferContext& context) {
  const std::vector<DType> dtypes = check_inputs_and_initial_values(context);  // C1, C2, C3
  const Shape& shape = context.operand(0).shape;
  const WindowAttrs& attrs = context.get<WindowAttrs>();
  check_window(context.opcode, attrs, shape.rank());  // C4 - C7, C12
  check_count(context.opcode, "base_dilations", attrs.base_dilations.size(), shape.rank());  // C8
  check_at_least(context.opcode, "base_dilations", attrs.base_dilations, 1);                 // C9
  check_count(context.opcode, "window_dilations", attrs.window_dilations.size(),
              shape.rank());                                                      // C10
  check_at_least(context.opcode, "window_dilations", attrs.window_dilations, 1);  // C11
  Dims dims;                                                                      // C14, C15
  const std::vector<WindowAxis> axes = window_axes(attrs);
  for (size_t d = 0; d < axes.size(); ++d) {
    dims.push_back(num_windows(context.opcode, shape[static_cast<int>(d)], axes[d]));
  }
  std::vector<TensorType> results;
  for (const DType dtype : check_reducer(context, 0, dtypes)) {  // C13, C16
    const Value element = context.regions[0]->parameter(static_cast<int>(results.size()));
    results.push_back({dtype, Shape(dims), element.type().quantized});
  }
  return results;
}

// Padding and holes of the base dilation contribute the initial value.
std::vector<Tensor> evaluate_reduce_window(const Instruction& instruction,
                                           std::span<const Tensor> operands,
                                           const Evaluator& evaluator) {
  if (instruction.shape().num_elements() == 0) {
    std::vector<Tensor> empty;
    for (const TensorType& type : instruction.results()) empty.emplace_back(type);
    return empty;
  }
  const size_t num_inputs = operands.size() / 2;
  const std::vector<WindowAxis> axes = window_axes(instruction.attrs<WindowAttrs>());
  std::vector<Tensor> padded;
  for (size_t k = 0; k < num_inputs; ++k) {
    padded.push_back(pad_for_windows(operands[k], operands[num_inputs + k], axes));
  }
  const WindowWalk walk = walk_windows(padded[0].shape(), axes, instruction.shape().dims());
  StridedView to = view_of(instruction.shape());
  to.strides.resize(walk.extents.size(), 0);
  return reduce_strided(instruction, evaluator, padded, operands.subspan(num_inputs), walk.extents,
                        walk.view, to, Rounding::each_step);
}

}  // namespace

extern const OpSemantics reduce_window_semantics{
    .infer = infer_reduce_window,
    .evaluate = evaluate_reduce_window,
    .example = OpExample{.parameters = "%a: tensor<4x$T>, %b: tensor<$T>",
                         .results = "tensor<3x$T>",
                         .body = R"(%r = "stablehlo.reduce_window"(%a, %b) ({
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.add"(%x, %y) : (tensor<$T>, tensor<$T>) -> tensor<$T>
  "stablehlo.return"(%z) : (tensor<$T>) -> ()
}) {window_dimensions = array<i64: 2>} : (tensor<4x$T>, tensor<$T>) -> tensor<3x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::own},
    .vectorize = replicas::vectorize_reduce_window,
    .shard = spmd::shard_reduce_window};

}  // namespace systole::hlo::ops
