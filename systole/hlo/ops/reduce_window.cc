#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/lifted_region.h"
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

// Windows of all elements so far, rounded once at the end as in `reduce`; nullopt without a
// function for the region.
template <class T>
std::optional<Tensor> running_sums(const Instruction& x, const Tensor& operand,
                                   const Tensor& initial, const RunningWindow& running) {
  using A = Accumulator<T>;
  const auto combine = combiner_of<A>(x.region());
  if (combine == nullptr) return std::nullopt;
  const Tensor input = operand.cast(x.dtype());
  Tensor result(x.type());
  const Shape& shape = x.shape();
  const int64_t length = shape[running.axis];
  const int64_t step = shape.strides()[static_cast<size_t>(running.axis)];
  const T* const from = input.data<T>().data();
  T* const to = result.data<T>().data();
  const A first = convert_element<A>(initial.cast(x.dtype()).data<T>()[0]);
  for (int64_t line = 0; line < shape.num_elements() / length; ++line) {
    const int64_t begin = line / step * step * length + line % step;
    A sum = first;
    for (int64_t j = 0; j < length; ++j) {
      const int64_t at = begin + (running.reverse ? length - 1 - j : j) * step;
      sum = combine(sum, convert_element<A>(from[at]));
      to[at] = convert_element<T>(sum);
    }
  }
  return result;
}

// Windows of all elements so far, of 2, of 4... elements in each round.
std::vector<Tensor> running_results(const Instruction& x, std::span<const Tensor> operands,
                                    const Evaluator& evaluator, const RunningWindow& running) {
  const size_t num_inputs = operands.size() / 2;
  if (num_inputs == 1 && !is_small_float(x.dtype())) {
    const std::optional<Tensor> sums = visit_dtype(x.dtype(), [&]<class T>() {
      return running_sums<T>(x, operands[0], operands[1], running);
    });
    if (sums) return {*sums};
  }
  const LiftedRegion region(x.region(), evaluator);
  const Shape& shape = x.shape();
  const int64_t length = shape[running.axis];
  std::vector<Tensor> results;
  for (size_t k = 0; k < num_inputs; ++k) results.push_back(operands[k].cast(x.results()[k].dtype));
  const auto combine = [&](const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    std::vector<Tensor> arguments = a;
    arguments.insert(arguments.end(), b.begin(), b.end());
    return region.apply(arguments);
  };
  const auto part = [&](int64_t begin, int64_t end) {
    Shape part_shape = shape;
    part_shape.set_dim(running.axis, end - begin);
    StridedView from = view_of(shape);
    from.offset = begin * from.strides[static_cast<size_t>(running.axis)];
    std::vector<Tensor> parts;
    for (const Tensor& result : results) {
      parts.emplace_back(result.dtype(), part_shape);
      copy_strided(parts.back(), view_of(part_shape), result, from, part_shape.dims());
    }
    return parts;
  };
  const auto put = [&](int64_t begin, const std::vector<Tensor>& parts) {
    StridedView to = view_of(shape);
    to.offset = begin * to.strides[static_cast<size_t>(running.axis)];
    for (size_t k = 0; k < num_inputs; ++k) {
      const Shape& part_shape = parts[k].shape();
      copy_strided(results[k], to, parts[k], view_of(part_shape), part_shape.dims());
    }
  };
  std::vector<Tensor> initial;
  for (size_t k = 0; k < num_inputs; ++k) {
    initial.emplace_back(results[k].dtype(), shape);
    fill(initial.back(), operands[num_inputs + k].cast(results[k].dtype()));
  }
  results = combine(initial, results);
  for (int64_t distance = 1; distance < length; distance *= 2) {
    const std::vector<Tensor> before = part(0, length - distance);
    const std::vector<Tensor> after = part(distance, length);
    put(running.reverse ? 0 : distance, combine(before, after));
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
  if (const auto running = running_window(instruction, operands[num_inputs]))
    return running_results(instruction, operands, evaluator, *running);
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
