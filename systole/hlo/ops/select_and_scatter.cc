#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/comparator.h"
#include "systole/hlo/semantics/lifted_region.h"
#include "systole/hlo/semantics/reducer.h"
#include "systole/hlo/semantics/window.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_select_and_scatter(const InferContext& context) {
  const TensorType& operand = context.operand(0);
  const TensorType& source = context.operand(1);
  const TensorType& init = context.operand(2);
  const WindowAttrs& attrs = context.get<WindowAttrs>();
  check_dtype(context.opcode, "source", source.dtype, operand.dtype);    // C1
  check_dtype(context.opcode, "init_value", init.dtype, operand.dtype);  // C3
  check_scalar(context.opcode, "init_value", init);                      // I3
  check_window(context.opcode, attrs, operand.shape.rank());             // C4 - C8
  for (const Dims* dilations : {&attrs.base_dilations, &attrs.window_dilations}) {
    if (*dilations == Dims(dilations->size(), 1)) continue;
    throw invalid_argument("select_and_scatter: dilations, got {}, expected none",
                           to_string(*dilations));
  }
  Dims windows;  // C2
  const std::vector<WindowAxis> axes = window_axes(attrs);
  for (size_t d = 0; d < axes.size(); ++d) {
    windows.push_back(num_windows(context.opcode, operand.shape[static_cast<int>(d)], axes[d]));
  }
  check_shape(context.opcode, "source", source.shape, Shape(std::move(windows)));
  check_predicate(context, 0, {&operand.dtype, 1});                       // C9
  const DType dtype = check_reducer(context, 1, {&operand.dtype, 1})[0];  // C10
  return {{dtype, operand.shape, operand.quantized}};                     // C11, C12
}

// Returns the operand's elements in the window at `source_index`, as row-major offsets in order,
// without padding.
std::vector<int64_t> window_elements(const Shape& operand, std::span<const WindowAxis> axes,
                                     const Dims& source_index) {
  StridedView view = view_of(operand);
  Dims extents;
  for (size_t d = 0; d < axes.size(); ++d) {
    const Wide start = Wide{source_index[d]} * axes[d].stride - axes[d].padding_low;
    const Wide first = std::max<Wide>(start, 0);
    const Wide last = std::min<Wide>(start + axes[d].size, operand[static_cast<int>(d)]);
    if (first >= last) return {};
    view.offset += static_cast<int64_t>(first) * view.strides[d];
    extents.push_back(static_cast<int64_t>(last - first));
  }
  std::vector<int64_t> elements;
  for_each_row<1>(extents, {view}, [&](const auto& offsets, const auto& steps, int64_t count) {
    for (int64_t i = 0; i < count; ++i) elements.push_back(offsets[0] + i * steps[0]);
  });
  return elements;
}

using Windows = std::vector<std::vector<int64_t>>;

// Selects one element of each window with the first region.
std::vector<int64_t> select(const Computation& region, const Evaluator& evaluator,
                            const Tensor& operand, const Windows& windows) {
  std::vector<int64_t> selected;
  for (const std::vector<int64_t>& window : windows) selected.push_back(window[0]);
  const LiftedRegion keeps(region, evaluator);
  std::vector<size_t> open;  // the windows with an element number `i`
  for (size_t i = 1; i == 1 || !open.empty(); ++i) {
    std::vector<int64_t> kept;
    std::vector<int64_t> come;
    open.clear();
    for (size_t w = 0; w < windows.size(); ++w) {
      if (i >= windows[w].size()) continue;
      open.push_back(w);
      kept.push_back(selected[w]);
      come.push_back(windows[w][i]);
    }
    const std::vector<Tensor> arguments = {elements_at(operand, kept), elements_at(operand, come)};
    const Tensor stays = keeps.apply(arguments)[0];
    for (size_t k = 0; k < open.size(); ++k) {
      if (!stays.data<bool>()[k]) selected[open[k]] = come[k];
    }
  }
  return selected;
}

// The same for a region that only compares.
std::vector<int64_t> select(const Comparator& comparator, const Tensor& operand,
                            const Windows& windows) {
  const ComparisonKeys keys(operand, comparator.compare.compare_type);
  std::vector<int64_t> selected;
  for (const std::vector<int64_t>& window : windows) {
    selected.push_back(window[0]);
    for (const int64_t come : window) {
      if (!keys.holds(comparator.compare.direction, selected.back(), come)) selected.back() = come;
    }
  }
  return selected;
}

// Applies the second region if it is a known combiner of T. Returns false if it is not.
template <class T>
bool scatter_typed(const Computation& region, Tensor& result, std::span<const int64_t> targets,
                   const Tensor& updates) {
  using A = Accumulator<T>;
  const auto combine = combiner_of<A>(region);
  if (combine == nullptr) return false;
  for (size_t i = 0; i < targets.size(); ++i) {
    T& value = result.data<T>()[targets[i]];
    const T added = updates.data<T>()[i];
    value = convert_element<T>(combine(convert_element<A>(value), convert_element<A>(added)));
  }
  return true;
}

// The selection in an empty window is unspecified; nothing is scattered for it.
std::vector<Tensor> evaluate_select_and_scatter(const Instruction& instruction,
                                                std::span<const Tensor> operands,
                                                const Evaluator& evaluator) {
  const Tensor& operand = operands[0];
  const std::vector<WindowAxis> axes = window_axes(instruction.attrs<WindowAttrs>());
  Windows windows;
  std::vector<int64_t> sources;
  int64_t source = 0;
  for_each_index(operands[1].shape().dims(), [&](const Dims& source_index) {
    windows.push_back(window_elements(operand.shape(), axes, source_index));
    if (windows.back().empty()) {
      windows.pop_back();
    } else {
      sources.push_back(source);
    }
    ++source;
  });
  const std::optional<Comparator> comparator = match_comparator(instruction.region(0));
  const std::vector<int64_t> targets =
      comparator ? select(*comparator, operand, windows)
                 : select(instruction.region(0), evaluator, operand, windows);
  const Tensor updates = elements_at(operands[1].cast(instruction.dtype()), sources);
  std::vector<Tensor> results = {Tensor(instruction.type())};
  fill(results[0], operands[2].cast(instruction.dtype()));
  const bool done = visit_dtype(instruction.dtype(), [&]<class T>() {
    return scatter_typed<T>(instruction.region(1), results[0], targets, updates);
  });
  if (!done) {
    fold_into(results, targets, {&updates, 1}, LiftedRegion(instruction.region(1), evaluator));
  }
  return results;
}

}  // namespace

extern const OpSemantics select_and_scatter_semantics{
    .infer = infer_select_and_scatter,
    .evaluate = evaluate_select_and_scatter,
    .example = OpExample{.parameters = "%a: tensor<4x$T>, %s: tensor<2x$T>, %b: tensor<$T>",
                         .results = "tensor<4x$T>",
                         .body = R"(%r = "stablehlo.select_and_scatter"(%a, %s, %b) ({
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.compare"(%x, %y) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<$T>, tensor<$T>) -> tensor<i1>
  "stablehlo.return"(%z) : (tensor<i1>) -> ()
}, {
^bb0(%x: tensor<$T>, %y: tensor<$T>):
  %z = "stablehlo.add"(%x, %y) : (tensor<$T>, tensor<$T>) -> tensor<$T>
  "stablehlo.return"(%z) : (tensor<$T>) -> ()
}) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>} : (tensor<4x$T>, tensor<2x$T>, tensor<$T>) -> tensor<4x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::own},
    .vectorize = replicas::vectorize_select_and_scatter,
    .shard = spmd::shard_select_and_scatter};

}  // namespace systole::hlo::ops
