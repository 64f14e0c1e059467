#include "systole/graph/batching/batch_rule.h"

#include <algorithm>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/constant_value.h"

namespace systole {
namespace {

// [B, dims..] -> [B, 1.., dims..] with `more` ones, so that dims stay aligned with other inputs.
std::optional<Output> with_ones(Output value, const Shape& element, int more) {
  if (more == 0) return value;
  if (!element.is_static() || element.num_elements() == 0) return std::nullopt;
  std::vector<int64_t> sizes{-1};
  sizes.insert(sizes.end(), static_cast<size_t>(more), 1);
  sizes.insert(sizes.end(), element.begin(), element.end());
  return reshape(value, sizes);
}

}  // namespace

bool BatchContext::only_first_batched() const {
  return inputs[0].batched &&
         std::ranges::count_if(inputs, [](const auto& input) { return input.batched; }) == 1;
}

bool BatchContext::all_batched() const {
  return std::ranges::all_of(inputs, [](const auto& input) { return input.batched; });
}

std::vector<Output> BatchContext::values() const {
  std::vector<Output> result;
  for (const BatchedInput& input : inputs) result.push_back(input.value);
  return result;
}

std::optional<std::vector<int64_t>> BatchContext::constant_ints(int input) const {
  const auto value = constant_value(node.input(input));
  if (!value) return std::nullopt;
  std::vector<int64_t> ints;
  for (int64_t i = 0; i < value->num_elements(); ++i) {
    ints.push_back(static_cast<int64_t>(value->as_double(i)));
  }
  return ints;
}

std::vector<Output> BatchContext::rebuild(std::vector<Output> node_inputs, AttrMap node_attrs,
                                          std::string_view op) const {
  return Graph::current()
      .add_node(op.empty() ? node.op_name() : op, std::move(node_inputs), std::move(node_attrs),
                node.where(), node.name())
      ->outputs();
}

std::vector<int64_t> axes_after_batch(std::vector<int64_t> axes) {
  for (int64_t& axis : axes) axis += axis >= 0 ? 1 : 0;
  return axes;
}

BatchResults batch_elementwise(const BatchContext& c) {
  int rank = 0;
  for (size_t i = 0; i < c.inputs.size(); ++i) rank = std::max(rank, c.element_shape(i).rank());
  std::vector<Output> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const Shape element = c.element_shape(i);
    const BatchedInput& input = c.inputs[i];
    const auto value = input.batched ? with_ones(input.value, element, rank - element.rank())
                                     : std::optional(input.value);
    if (!value) return std::nullopt;
    inputs.push_back(*value);
  }
  return c.rebuild(std::move(inputs), c.attrs);
}

BatchResults batch_same_shape(const BatchContext& c) {
  const auto batched = std::ranges::find_if(c.inputs, &BatchedInput::batched);
  const int rank = c.element_shape(static_cast<size_t>(batched - c.inputs.begin())).rank();
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.element_shape(i).rank() != (c.inputs[i].batched ? rank : 0)) return std::nullopt;
  }
  return c.rebuild();
}

BatchResults batch_first_input(const BatchContext& c) {
  if (!c.only_first_batched()) return std::nullopt;
  return c.rebuild();
}

BatchResults batch_all_inputs(const BatchContext& c) {
  if (!c.all_batched()) return std::nullopt;
  return c.rebuild();
}

BatchResults batch_axes_input(const BatchContext& c) {
  const auto axes = c.constant_ints(1);
  if (!axes || !c.inputs[0].batched) return std::nullopt;
  const Tensor given = *constant_value(c.node.input(1));
  Tensor moved(DType::s64, given.shape());
  std::ranges::copy(axes_after_batch(*axes), moved.data<int64_t>().begin());
  const Output input = constant(moved.cast(given.dtype()), {.name = "axes"});
  return c.rebuild({c.inputs[0].value, input}, c.attrs);
}

BatchResults batch_axis_attr(const BatchContext& c) {
  AttrMap attrs = c.attrs;
  attrs["axis"] = axes_after_batch({c.node.attr<int64_t>("axis")})[0];
  return c.rebuild(c.values(), std::move(attrs));
}

}  // namespace systole
