#include "systole/graph/api/array_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/ops/array/array_common.h"
#include "systole/graph/ops/array/strided_slice_spec.h"

namespace systole {
namespace {

enum : int { kStridedSliceInput, kStridedSliceBegin, kStridedSliceEnd, kStridedSliceStrides };

SliceMasks masks_of(const AttrMap& attrs) {
  const auto mask = [&](const char* name) { return std::get<int64_t>(attrs.find(name)->second); };
  return {mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"), mask("new_axis_mask"),
          mask("shrink_axis_mask")};
}

std::vector<TensorType> infer_strided_slice(const InferContext& c) {
  const SliceSpec spec =
      slice_spec(c.input(kStridedSliceInput).shape, known_ints(c, kStridedSliceBegin, "begin"),
                 known_ints(c, kStridedSliceEnd, "end"),
                 known_ints(c, kStridedSliceStrides, "strides"), masks_of(c.attrs));
  return {{c.input(kStridedSliceInput).dtype, spec.result}};
}

SliceSpec spec_of(LowerContext& c, const Shape& input) {
  return slice_spec(input, c.constant_ints(kStridedSliceBegin), c.constant_ints(kStridedSliceEnd),
                    c.constant_ints(kStridedSliceStrides), masks_of(c.node.attrs()));
}

// A negative stride walks the reversed axis.
std::vector<hlo::Value> lower_strided_slice(LowerContext& c) {
  const SliceSpec spec = spec_of(c, c.input(kStridedSliceInput).shape());
  hlo::Value x = c.input(kStridedSliceInput);
  if (!spec.reversed.empty()) x = c.b.reverse(x, spec.reversed);
  return {c.b.reshape(c.b.slice(x, spec.start, spec.limit, spec.stride), spec.result)};
}

std::vector<Output> strided_slice_gradient(GradientContext& c) {
  Node* const node = Graph::current().add_node(
      "StridedSliceGrad",
      {shape(c.input(kStridedSliceInput)), c.input(kStridedSliceBegin), c.input(kStridedSliceEnd),
       c.input(kStridedSliceStrides), c.grad()},
      c.node.attrs());
  return {node->output(), {}, {}, {}};
}

int64_t mask_of(const Node& node, std::string_view name) {
  const auto it = node.attrs().find(name);
  const auto* value = it == node.attrs().end() ? nullptr : std::get_if<int64_t>(&it->second);
  return value == nullptr ? 0 : *value;
}

std::optional<PartialValue> strided_slice_elements(const Output& output) {
  const Node& node = *output.node();
  const auto value = partial_value(node.input(0));
  const auto begin = known_elements(node.input(1));
  const auto end = known_elements(node.input(2));
  const auto strides = known_elements(node.input(3));
  if (!value || value->shape.rank() != 1 || !begin || !end || !strides) return std::nullopt;
  if (begin->size() != 1 || end->size() != 1 || strides->size() != 1) return std::nullopt;
  if (mask_of(node, "ellipsis_mask") != 0 || mask_of(node, "new_axis_mask") != 0) {
    return std::nullopt;
  }
  const auto n = static_cast<int64_t>(value->elements.size());
  const int64_t step = std::clamp((*strides)[0], -n - 1, n + 1);  // a longer one leaves the vector
  if (step == 0) return std::nullopt;
  const auto from_end = [n](int64_t i) { return i < 0 ? i + n : i; };
  if ((mask_of(node, "shrink_axis_mask") & 1) != 0) {
    const int64_t i = from_end((*begin)[0]);
    if (i < 0 || i >= n) return std::nullopt;
    return partial_scalar(value->dtype, value->elements[i]);
  }
  const int64_t lowest = step > 0 ? 0 : -1;
  const int64_t highest = step > 0 ? n : n - 1;
  const auto clamped = [&](int64_t i) { return std::clamp(from_end(i), lowest, highest); };
  const int64_t first =
      (mask_of(node, "begin_mask") & 1) != 0 ? (step > 0 ? lowest : highest) : clamped((*begin)[0]);
  const int64_t last =
      (mask_of(node, "end_mask") & 1) != 0 ? (step > 0 ? highest : lowest) : clamped((*end)[0]);
  std::vector<KnownElement> elements;
  for (int64_t i = first; step > 0 ? i < last : i > last; i += step) {
    elements.push_back(value->elements[i]);
  }
  return partial_vector(value->dtype, std::move(elements));
}

// The batch is a whole axis before the others.
BatchResults batch_strided_slice(const BatchContext& c) {
  if (!c.only_first_batched()) return std::nullopt;
  std::vector<Output> inputs{c.inputs[0].value};
  for (int i = kStridedSliceBegin; i <= kStridedSliceStrides; ++i) {
    auto ints = c.constant_ints(i);
    if (!ints) return std::nullopt;
    ints->insert(ints->begin(), i == kStridedSliceStrides ? 1 : 0);
    const Tensor values = Tensor::of<int64_t>({static_cast<int64_t>(ints->size())}, *ints);
    inputs.push_back(constant(values.cast(c.node.input(i).dtype())));
  }
  AttrMap attrs = c.attrs;
  for (const char* mask :
       {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"}) {
    const std::string_view name = mask;
    const int64_t whole = name == "begin_mask" || name == "end_mask" ? 1 : 0;
    attrs[mask] = c.node.attr<int64_t>(mask) * 2 + whole;
  }
  return c.rebuild(std::move(inputs), std::move(attrs));
}

}  // namespace

Output strided_slice(const Input& input, const std::vector<int64_t>& begin,
                     const std::vector<int64_t>& end, const StridedSliceOptions& options) {
  const CompositionScope scope(input, options.name, "StridedSlice");
  const Output x = resolve("StridedSlice", input);
  const std::vector<int64_t> strides =
      options.strides.empty() ? std::vector<int64_t>(begin.size(), 1) : options.strides;
  return Graph::current()
      .add_node("StridedSlice",
                {x, ints_constant(begin, "begin"), ints_constant(end, "end"),
                 ints_constant(strides, "strides")},
                {{"T", x.dtype()},
                 {"begin_mask", options.begin_mask},
                 {"end_mask", options.end_mask},
                 {"ellipsis_mask", options.ellipsis_mask},
                 {"new_axis_mask", options.new_axis_mask},
                 {"shrink_axis_mask", options.shrink_axis_mask}},
                {}, scope.result().name)
      ->output();
}

namespace ops {
extern const OpDef op_strided_slice{
    .name = "StridedSlice",
    .doc = "Elements at regular distances along each axis.",
    .inputs = "input: T, begin: Index, end: Index, strides: Index",
    .outputs = "output: T",
    .attrs =
        "begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0, "
        "shrink_axis_mask: int = 0",
    .infer = infer_strided_slice,
    .lower = lower_strided_slice,
    .gradient = strided_slice_gradient,
    .constant_rule = strided_slice_elements,
    .batch = {.rule = batch_strided_slice},
    .traits = {.moves_elements = true},
};
}  // namespace ops
}  // namespace systole
