#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/ops/array/array_common.h"
#include "systole/graph/ops/array/mirror_pad.h"

namespace systole {
namespace {

enum : int { kPadInput, kPaddings, kPadValue };

using Known = std::optional<int64_t>;

// What is known of the paddings before (0) or after (1) the axes: all of a constant; of two
// vectors side by side, as the gradient of Slice has them, what is known of the vectors.
std::vector<Known> known_paddings(const InferContext& c, int side, int rank) {
  std::vector<Known> result(static_cast<size_t>(rank));
  if (const auto all = c.constant_input(kPaddings)) {
    for (int i = 0; i < rank; ++i) {
      result[i] = static_cast<int64_t>(all->as_double(2 * i + side));
    }
    return result;
  }
  const Node& node = *resolve_capture(c.inputs[kPaddings]).node();
  if (node.op_name() != "Pack" || node.attr<int64_t>("axis") != 1) return result;
  const auto vector = partial_value(node.input(side));
  return vector ? vector->elements : result;
}

std::vector<TensorType> infer_pad(const InferContext& c) {
  const Shape& x = c.input(kPadInput).shape;
  if (c.input(kPaddings).shape != Shape{x.rank(), 2} || !is_integer(c.input(kPaddings).dtype)) {
    throw invalid_argument("paddings, got {} for a tensor of {}, expected integers [{},2]",
                           c.input(kPaddings), x, x.rank());
  }
  const std::vector<Known> before = known_paddings(c, 0, x.rank());
  const std::vector<Known> behind = known_paddings(c, 1, x.rank());
  Shape result = x;
  for (int i = 0; i < x.rank(); ++i) {
    const Known low = before[i];
    const Known high = behind[i];
    if (low.value_or(0) < 0 || high.value_or(0) < 0) {
      throw invalid_argument("paddings of axis {}, got {} and {}, expected >= 0", i,
                             low.value_or(0), high.value_or(0));
    }
    result.set_dim(i, low && high && x[i] != kUnknown ? x[i] + *low + *high : kUnknown);
  }
  return {{c.input(kPadInput).dtype, result}};
}

std::vector<hlo::Value> lower_pad(LowerContext& c) {
  const std::vector<int64_t> paddings = c.constant_ints(kPaddings);
  Dims low;
  Dims high;
  for (size_t i = 0; i < paddings.size(); i += 2) {
    low.push_back(paddings[i]);
    high.push_back(paddings[i + 1]);
  }
  return {c.b.pad(c.input(kPadInput), c.input(kPadValue), low, high)};
}

std::vector<Output> pad_gradient(GradientContext& c) {
  const Output paddings = c.input(kPaddings);
  const int rank = c.input(kPadInput).shape().rank();
  const Output before = reshape(slice(paddings, {0, 0}, {rank, 1}), {rank});
  const Output inner = slice(c.grad(), before, cast(shape(c.input(kPadInput)), paddings.dtype()));
  return {inner, {}, subtract(reduce_sum(c.grad()), reduce_sum(inner))};
}

Output paddings_constant(const std::vector<std::pair<int64_t, int64_t>>& paddings) {
  std::vector<int32_t> flat;
  for (const auto& [low, high] : paddings) {
    flat.push_back(static_cast<int32_t>(low));
    flat.push_back(static_cast<int32_t>(high));
  }
  return constant(Tensor::of<int32_t>({static_cast<int64_t>(paddings.size()), 2}, flat),
                  {.name = "paddings"});
}

}  // namespace

Output pad(const Input& tensor, const std::vector<std::pair<int64_t, int64_t>>& paddings,
           const PadOptions& options) {
  if (options.mode != PadMode::constant) return mirror_pad(tensor, paddings, options);
  const CompositionScope scope(tensor, options.name, "PadV2");
  const Output x = resolve("PadV2", tensor);
  return pad_tensor(x, paddings_constant(paddings), options.constant_values, scope.result().name);
}

Output pad_tensor(Output x, Output paddings, double value, const std::string& name) {
  const Output filler = constant(Tensor::full(x.dtype(), {}, value), {.name = "constant_values"});
  return Graph::current()
      .add_node("PadV2", {x, paddings, filler}, {{"T", x.dtype()}}, {}, name)
      ->output();
}

namespace ops {
extern const OpDef op_pad{
    .name = "PadV2",
    .doc = "A value put around the tensor.",
    .inputs = "input: T, paddings: Tpaddings, constant_values: T",
    .outputs = "output: T",
    .infer = infer_pad,
    .lower = lower_pad,
    .gradient = pad_gradient,
};
}  // namespace ops
}  // namespace systole
