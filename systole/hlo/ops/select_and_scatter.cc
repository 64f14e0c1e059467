#include "systole/hlo/comparator.h"
#include "systole/hlo/reducer.h"
#include "systole/hlo/window.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
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
  return {{dtype, operand.shape}};                                        // C11, C12
}

// The operand's elements in the window at `source_index`, as row-major offsets in order; padding is
// left out.
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

// The first region: whether element a of the operand stays selected when b comes.
class Selector {
 public:
  Selector(const Computation& region, const Tensor& operand, const Evaluator& evaluator)
      : region_(region), operand_(operand), evaluator_(evaluator), fast_(match_comparator(region)) {
    if (fast_) keys_.emplace(operand, fast_->compare.compare_type);
  }

  bool keeps(int64_t a, int64_t b) const {
    if (fast_) return keys_->holds(fast_->compare.direction, a, b);
    const std::vector<Tensor> arguments = {element(operand_, a), element(operand_, b)};
    return evaluator_.run_region(region_, arguments)[0].item<bool>();
  }

 private:
  const Computation& region_;
  const Tensor& operand_;
  const Evaluator& evaluator_;
  std::optional<Comparator> fast_;
  std::optional<ComparisonKeys> keys_;
};

// The second region, into one element of the result.
void scatter_element(const Computation& region, const Evaluator& evaluator, Tensor& result,
                     int64_t target, const Tensor& source, int64_t from) {
  const bool done = visit_dtype(result.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    const auto combine = combiner_of<A>(region);
    if (combine == nullptr) return false;
    T& value = result.data<T>()[static_cast<size_t>(target)];
    const T added = source.data<T>()[static_cast<size_t>(from)];
    value = convert_element<T>(combine(convert_element<A>(value), convert_element<A>(added)));
    return true;
  });
  if (done) return;
  const std::vector<Tensor> arguments = {element(result, target), element(source, from)};
  set_element(result, target, evaluator.run_region(region, arguments)[0]);
}

// What a window without elements selects is not specified: nothing is scattered for it.
std::vector<Tensor> evaluate(const Instruction& instruction, std::span<const Tensor> operands,
                             const Evaluator& evaluator) {
  const Tensor& operand = operands[0];
  const Tensor source = operands[1].cast(instruction.dtype());
  const std::vector<WindowAxis> axes = window_axes(instruction.attrs<WindowAttrs>());
  const Selector selector(instruction.region(0), operand, evaluator);
  Tensor result(instruction.type());
  fill(result, operands[2].cast(instruction.dtype()));
  int64_t from = 0;
  for_each_index(source.shape().dims(), [&](const Dims& source_index) {
    const std::vector<int64_t> window = window_elements(operand.shape(), axes, source_index);
    if (!window.empty()) {
      int64_t selected = window[0];
      for (size_t i = 1; i < window.size(); ++i) {
        if (!selector.keeps(selected, window[i])) selected = window[i];
      }
      scatter_element(instruction.region(1), evaluator, result, selected, source, from);
    }
    ++from;
  });
  return {result};
}

}  // namespace

extern const OpSemantics select_and_scatter_semantics;
const OpSemantics select_and_scatter_semantics{.infer = infer, .evaluate = evaluate};

}  // namespace systole::hlo::ops
