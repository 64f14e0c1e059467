#include <algorithm>
#include <numeric>

#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/comparator.h"
#include "systole/hlo/semantics/lifted_region.h"
#include "systole/hlo/semantics/reducer.h"

namespace systole::hlo::ops {
namespace {

// C1 (at least one input) is a column of the opcode table.
std::vector<TensorType> infer_sort(const InferContext& context) {
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
  const int64_t stride = shape.strides()[axis];
  std::vector<Tensor> results;
  for (const Tensor& input : inputs) results.emplace_back(input.type());
  if (shape.num_elements() == 0) return results;
  Dims others = shape.dims();
  others[axis] = 1;
  std::vector<int64_t> order(static_cast<size_t>(shape[axis]));
  for_each_row<1>(others, {view_of(shape)}, [&](const auto& offsets, const auto& steps, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t first = offsets[0] + i * steps[0];
      for (size_t k = 0; k < order.size(); ++k) order[k] = first + static_cast<int64_t>(k) * stride;
      // Always stable, which is_stable = false allows.
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

// Merge sort of all slices at once with a region as comparator. In each step every element searches
// for its place in the neighbouring run, so that the region works on whole tensors.
class RegionSort {
 public:
  RegionSort(const Computation& region, const Evaluator& evaluator,
             std::span<const Tensor> operands, int axis)
      : less_(region, evaluator), operands_(operands), order_(slice_by_slice(operands[0], axis)) {
    size_ = static_cast<size_t>(operands[0].dim(axis));
  }

  // Returns the row-major indices of the sorted elements, slice by slice; nothing if the region is
  // not an order (a < b < c < a).
  std::vector<int64_t> sort() {
    for (size_t width = 1; width < size_; width *= 2) {
      if (!merge(width)) return {};
    }
    return order_;
  }

 private:
  static std::vector<int64_t> slice_by_slice(const Tensor& operand, int axis) {
    const Shape& shape = operand.shape();
    StridedView view = view_of(shape);
    Dims extents = shape.dims();
    std::swap(view.strides[axis], view.strides.back());
    std::swap(extents[axis], extents.back());
    std::vector<int64_t> order;
    for_each_row<1>(extents, {view}, [&](const auto& offsets, const auto& steps, int64_t n) {
      for (int64_t i = 0; i < n; ++i) order.push_back(offsets[0] + i * steps[0]);
    });
    return order;
  }

  // Two runs of up to `width` elements, and the run that contains `place`.
  struct Runs {
    size_t begin;   // of the pair
    size_t middle;  // where the second one begins
    size_t end;
    bool in_first;
  };
  Runs runs_around(size_t place, size_t width) const {
    const size_t slice = place / size_ * size_;
    const size_t begin = slice + (place - slice) / (2 * width) * (2 * width);
    const size_t end = slice + size_;
    return {begin, std::min(begin + width, end), std::min(begin + 2 * width, end),
            place < begin + width};
  }

  // Returns less(order[a[i]], order[b[i]]) for each i.
  Tensor compare(std::span<const size_t> a, std::span<const size_t> b) const {
    std::vector<int64_t> left;
    std::vector<int64_t> right;
    for (const size_t place : a) left.push_back(order_[place]);
    for (const size_t place : b) right.push_back(order_[place]);
    std::vector<Tensor> arguments;
    for (const Tensor& operand : operands_) {
      arguments.push_back(elements_at(operand, left));
      arguments.push_back(elements_at(operand, right));
    }
    return less_.apply(arguments)[0];
  }

  // Simultaneous binary searches. Equal elements of the first run come first.
  bool merge(size_t width) {
    const size_t count = order_.size();
    std::vector<size_t> low(count);
    std::vector<size_t> high(count);
    for (size_t i = 0; i < count; ++i) {
      const Runs runs = runs_around(i, width);
      low[i] = runs.in_first ? runs.middle : runs.begin;
      high[i] = runs.in_first ? runs.end : runs.middle;
    }
    std::vector<size_t> a(count);
    std::vector<size_t> b(count);
    for (size_t left = width; left > 0; left /= 2) {
      for (size_t i = 0; i < count; ++i) {
        const bool in_first = runs_around(i, width).in_first;
        const size_t probe = std::min((low[i] + high[i]) / 2, count - 1);
        a[i] = in_first ? probe : i;
        b[i] = in_first ? i : probe;
      }
      const Tensor less = compare(a, b);
      for (size_t i = 0; i < count; ++i) {
        if (low[i] >= high[i]) continue;
        const size_t probe = (low[i] + high[i]) / 2;
        const bool goes_behind = less.data<bool>()[i] == runs_around(i, width).in_first;
        (goes_behind ? low[i] : high[i]) = goes_behind ? probe + 1 : probe;
      }
    }
    return place_all(width, low);
  }

  // An element's new place is its place in its run plus the number of elements of the other run
  // before it.
  bool place_all(size_t width, std::span<const size_t> low) {
    std::vector<int64_t> merged(order_.size(), -1);
    for (size_t i = 0; i < order_.size(); ++i) {
      const Runs runs = runs_around(i, width);
      const size_t place = i + low[i] - runs.middle;
      if (merged[place] >= 0) return false;
      merged[place] = order_[i];
    }
    order_ = std::move(merged);
    return true;
  }

  LiftedRegion less_;
  std::span<const Tensor> operands_;
  std::vector<int64_t> order_;
  size_t size_ = 0;
};

std::vector<Tensor> evaluate_sort(const Instruction& instruction, std::span<const Tensor> operands,
                                  const Evaluator& evaluator) {
  const Computation& region = instruction.region();
  const int axis =
      normalize_axis("sort", instruction.attrs<SortAttrs>().dimension, instruction.shape().rank());
  if (const std::optional<Comparator> comparator = match_comparator(region)) {
    const ComparisonKeys keys(operands[comparator->pair], comparator->compare.compare_type);
    return sort_slices(operands, axis, [&](int64_t a, int64_t b) {
      return keys.holds(comparator->compare.direction, a, b);
    });
  }
  const std::vector<int64_t> order = RegionSort(region, evaluator, operands, axis).sort();
  std::vector<int64_t> rank(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = static_cast<int64_t>(i);
  }
  if (!order.empty()) {
    return sort_slices(operands, axis, [&](int64_t a, int64_t b) { return rank[a] < rank[b]; });
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

extern const OpSemantics sort_semantics{.infer = infer_sort,
                                        .evaluate = evaluate_sort,
                                        .example = OpExample{.parameters = "%a: tensor<4x$T>",
                                                             .results = "tensor<4x$T>",
                                                             .body = R"(%r = "stablehlo.sort"(%a) ({
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.compare"(%x, %y) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<$T>, tensor<$T>) -> tensor<i1>
  "stablehlo.return"(%z) : (tensor<i1>) -> ()
}) {dimension = 0 : i64, is_stable = true} : (tensor<4x$T>) -> tensor<4x$T>)"},
                                        .vectorize = replicas::vectorize_sort,
                                        .shard = spmd::shard_sort};

}  // namespace systole::hlo::ops
