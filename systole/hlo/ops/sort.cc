#include <algorithm>
#include <numeric>

#include "systole/hlo/checks.h"
#include "systole/hlo/comparator.h"
#include "systole/hlo/reducer.h"

namespace systole::hlo::ops {
namespace {

// C1 (at least one input) is a column of the opcode table.
std::vector<TensorType> infer(const InferContext& context) {
  const Shape& shape = context.operand(0).shape;
  std::vector<TensorType> results;
  std::vector<DType> dtypes;
  for (int i = 0; i < context.num_operands(); ++i) {
    check_shape(context.opcode, fmt::format("input {}", i), context.operand(i).shape, shape);  // C3
    results.push_back(context.operand(i));                                                     // C2
    dtypes.push_back(context.operand(i).dtype);
  }
  normalize_axis("sort", context.get<SortAttrs>().dimension, shape.rank());  // C4
  check_predicate(context, 0, dtypes);                                       // C5
  return results;
}

// Sorts each slice along `axis` by less(a, b), where a and b are row-major indices of elements.
template <class Less>
std::vector<Tensor> sort_slices(std::span<const Tensor> inputs, int axis, Less&& less) {
  const Shape& shape = inputs[0].shape();
  const int64_t stride = shape.strides()[static_cast<size_t>(axis)];
  std::vector<Tensor> results;
  for (const Tensor& input : inputs) results.emplace_back(input.type());
  if (shape.num_elements() == 0) return results;
  Dims others = shape.dims();
  others[static_cast<size_t>(axis)] = 1;
  std::vector<int64_t> order(static_cast<size_t>(shape[axis]));
  for_each_row<1>(others, {view_of(shape)}, [&](const auto& offsets, const auto& steps, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t first = offsets[0] + i * steps[0];
      for (size_t k = 0; k < order.size(); ++k) order[k] = first + static_cast<int64_t>(k) * stride;
      // Always stable: what is_stable = false leaves open may be so, too.
      std::ranges::stable_sort(order, less);
      for (size_t r = 0; r < results.size(); ++r) {
        for (size_t k = 0; k < order.size(); ++k) {
          copy_element(results[r], first + static_cast<int64_t>(k) * stride, inputs[r], order[k]);
        }
      }
    }
  });
  return results;
}

std::vector<Tensor> evaluate(const Instruction& instruction, std::span<const Tensor> operands,
                             const Evaluator& evaluator) {
  const Computation& region = instruction.region();
  const int axis =
      normalize_axis("sort", instruction.attrs<SortAttrs>().dimension, instruction.shape().rank());
  if (const std::optional<Comparator> comparator = match_comparator(region)) {
    const ComparisonKeys keys(operands[static_cast<size_t>(comparator->pair)],
                              comparator->compare.compare_type);
    return sort_slices(operands, axis, [&](int64_t a, int64_t b) {
      return keys.holds(comparator->compare.direction, a, b);
    });
  }
  return sort_slices(operands, axis, [&](int64_t a, int64_t b) {
    std::vector<Tensor> arguments;
    for (const Tensor& operand : operands) {
      arguments.push_back(element(operand, a));
      arguments.push_back(element(operand, b));
    }
    return evaluator.run_region(region, arguments)[0].item<bool>();
  });
}

}  // namespace

extern const OpSemantics sort_semantics;
const OpSemantics sort_semantics{.infer = infer, .evaluate = evaluate};

}  // namespace systole::hlo::ops
