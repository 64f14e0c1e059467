// Reductions, windows and sorts: regions are copied unchanged; the replicas are an additional axis.
#include <algorithm>

#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/passes/replicas/vectorizer.h"

namespace systole::hlo::replicas {
namespace {

bool any_varying(const Vectorizer& v, std::span<const Value> values) {
  return std::ranges::any_of(values, [&](Value value) { return v.varying(value); });
}

std::vector<Value> with_regions(Vectorizer& v, Instruction& x, std::vector<Value> operands,
                                Attrs attrs) {
  std::vector<TensorType> types;
  for (const TensorType& type : x.results()) types.push_back(v.stacked_type(type));
  const auto copy_regions = [&](Instruction& copy) {
    for (const auto& region : x.regions()) {
      ValueMap none;
      copy.add_region().clone_from(*region, none);
    }
  };
  return results_of(*v.b().op_with_regions(x.opcode(), std::move(operands), std::move(attrs),
                                           copy_regions, types));
}

// Returns the inputs, stacked, and the initial values; nullopt if the latter vary.
std::optional<std::vector<Value>> inputs_and_initials(Vectorizer& v, Instruction& x) {
  const auto half = x.operands().size() / 2;
  if (any_varying(v, x.operands().subspan(half))) return std::nullopt;
  std::vector<Value> operands = v.stacked(x.operands().first(half));
  for (const Value& initial : x.operands().subspan(half)) operands.push_back(v.at(initial));
  return operands;
}

}  // namespace

std::vector<Value> vectorize_reduce(Vectorizer& v, Instruction& x) {
  auto operands = inputs_and_initials(v, x);
  if (!operands) return {};
  return with_regions(v, x, std::move(*operands),
                      DimensionsAttrs{shifted(x.attrs<DimensionsAttrs>().dimensions)});
}

std::vector<Value> vectorize_map(Vectorizer& v, Instruction& x) {
  const Dims& dimensions = x.attrs<DimensionsAttrs>().dimensions;
  return with_regions(v, x, v.stacked(x.operands()),
                      DimensionsAttrs{with_front(shifted(dimensions), 0)});
}

std::vector<Value> vectorize_sort(Vectorizer& v, Instruction& x) {
  SortAttrs attrs = x.attrs<SortAttrs>();
  if (attrs.dimension >= 0) ++attrs.dimension;
  return with_regions(v, x, v.stacked(x.operands()), attrs);
}

namespace {

// Returns whether the window leaves the first axis alone. The replicas can then be a part of it,
// and the array keeps the usual rank of windows.
bool leaves_first_axis(const WindowAttrs& a) {
  const auto first_is_one = [](const Dims& dims) { return !dims.empty() && dims[0] == 1; };
  return first_is_one(a.window_dimensions) && first_is_one(a.window_strides) &&
         (a.base_dilations.empty() || a.base_dilations[0] == 1) &&
         (a.window_dilations.empty() || a.window_dilations[0] == 1) &&
         a.padding[0] == std::pair<int64_t, int64_t>{0, 0};
}

// select_and_scatter has no dilations.
Dims with_one(const Dims& dilations, size_t rank) {
  return dilations.size() < rank ? dilations : with_front(dilations, 1);
}

WindowAttrs with_replicas(WindowAttrs a) {
  const size_t rank = a.window_dimensions.size();
  a.window_dimensions = with_front(a.window_dimensions, 1);
  a.window_strides = with_front(a.window_strides, 1);
  a.base_dilations = with_one(a.base_dilations, rank);
  a.window_dilations = with_one(a.window_dilations, rank);
  a.padding.insert(a.padding.begin(), {0, 0});
  return a;
}

// Windows over the first `arrays` operands; the other operands are scalars.
std::vector<Value> windowed(Vectorizer& v, Instruction& x, size_t arrays) {
  if (any_varying(v, x.operands().subspan(arrays))) return {};
  const auto& attrs = x.attrs<WindowAttrs>();
  const bool merges = leaves_first_axis(attrs);
  std::vector<Value> operands = v.stacked(x.operands().first(arrays));
  if (merges) {
    for (Value& operand : operands) operand = v.merge_lanes(operand, 0);
  }
  for (const Value& initial : x.operands().subspan(arrays)) operands.push_back(v.at(initial));
  const auto copy_regions = [&](Instruction& copy) {
    for (const auto& region : x.regions()) {
      ValueMap none;
      copy.add_region().clone_from(*region, none);
    }
  };
  std::vector<Value> results = results_of(*v.b().op_with_regions(
      x.opcode(), std::move(operands), merges ? attrs : with_replicas(attrs), copy_regions));
  if (merges) {
    for (Value& result : results) result = v.split_lanes(result, 0);
  }
  return results;
}

}  // namespace

std::vector<Value> vectorize_reduce_window(Vectorizer& v, Instruction& x) {
  return windowed(v, x, x.operands().size() / 2);
}

std::vector<Value> vectorize_select_and_scatter(Vectorizer& v, Instruction& x) {
  return windowed(v, x, 2);
}

}  // namespace systole::hlo::replicas
