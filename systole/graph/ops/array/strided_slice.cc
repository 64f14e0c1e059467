#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/composition.h"
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
extern const OpDef op_strided_slice;
const OpDef op_strided_slice{
    .name = "StridedSlice",
    .doc = "Elements at regular distances along each axis.",
    .infer = infer_strided_slice,
    .lower = lower_strided_slice,
    .gradient = strided_slice_gradient,
};
}  // namespace ops
}  // namespace systole
