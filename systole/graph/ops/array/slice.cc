#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

enum : int { kSliceInput, kSliceBegin, kSliceSize };

// The size of one axis of the result. `rest` says that -1 stands for what remains, and is not a
// size that is not known yet.
int64_t part_size(const Shape& x, int axis, int64_t begin, int64_t size, bool rest) {
  const bool known = x[axis] != kUnknown && begin != kUnknown;
  if (size == kUnknown && rest && known) size = x[axis] - begin;
  const bool fits = size == kUnknown ? !known || begin <= x[axis] : size >= 0;
  if (!fits || (known && size != kUnknown && begin + size > x[axis])) {
    throw invalid_argument("elements of axis {} of {}, got [{},{}), expected within [0,{})", axis,
                           x, begin, begin + size, x[axis]);
  }
  return size;
}

std::vector<TensorType> infer_slice(const InferContext& c) {
  const Shape& x = c.input(kSliceInput).shape;
  const auto begin = c.input_as_shape(kSliceBegin);
  const auto size = c.input_as_shape(kSliceSize);
  const auto has_rank = [&](const auto& s) { return s && s->rank() == x.rank(); };
  if (!has_rank(begin) || !has_rank(size)) {
    throw invalid_argument(
        "begin and size, got {} and {} for a tensor of {}, expected {} numbers each",
        c.input(kSliceBegin), c.input(kSliceSize), x, x.rank());
  }
  if (c.constant_input(kSliceBegin) && !begin->is_static()) {
    throw invalid_argument("begin, got {}, expected numbers >= 0", *begin);
  }
  const bool rest = c.constant_input(kSliceSize).has_value();
  Shape result = x;
  for (int i = 0; i < x.rank(); ++i) {
    result.set_dim(i, part_size(x, i, (*begin)[i], (*size)[i], rest));
  }
  return {{c.input(kSliceInput).dtype, result}};
}

std::vector<hlo::Value> lower_slice(LowerContext& c) {
  const Shape& x = c.input(kSliceInput).shape();
  const std::vector<int64_t> begin = c.constant_ints(kSliceBegin);
  const std::vector<int64_t> size = c.constant_ints(kSliceSize);
  Dims limit;
  for (int i = 0; i < x.rank(); ++i) {
    const auto at = static_cast<size_t>(i);
    limit.push_back(begin[at] + part_size(x, i, begin[at], size[at], /*rest=*/true));
  }
  return {c.b.slice(c.input(kSliceInput), Dims(begin.begin(), begin.end()), limit)};
}

// The gradient at its place among zeros.
std::vector<Output> slice_gradient(GradientContext& c) {
  const Output before = c.input(kSliceBegin);
  const Output extent = cast(shape(c.output()), before.dtype());
  const Output after =
      subtract(subtract(cast(shape(c.input(kSliceInput)), before.dtype()), before), extent);
  return {pad_tensor(c.grad(), stack({before, after}, {.axis = 1}), 0), {}, {}};
}

std::optional<PartialValue> slice_elements(const Output& output) {
  const Node& node = *output.node();
  const auto value = partial_value(node.input(0));
  const auto begin = known_elements(node.input(1));
  const auto size = known_elements(node.input(2));
  if (!value || !begin || !size || value->shape.rank() != 1) return std::nullopt;
  const auto n = static_cast<int64_t>(value->elements.size());
  const int64_t count = (*size)[0] == -1 ? n - (*begin)[0] : (*size)[0];
  if ((*begin)[0] < 0 || count < 0 || count > n - (*begin)[0]) return std::nullopt;
  const auto first = value->elements.begin() + (*begin)[0];
  return partial_vector(value->dtype, std::vector<KnownElement>(first, first + count));
}

}  // namespace

Output slice(const Input& input, const ShapeInput& begin, const ShapeInput& size,
             const NameOptions& options) {
  const CompositionScope scope(input, options.name, "Slice");
  const Output x = resolve("Slice", input);
  return Graph::current()
      .add_node("Slice", {x, resolve("Slice", begin), resolve("Slice", size)}, {{"T", x.dtype()}},
                {}, scope.result().name)
      ->output();
}

namespace ops {
extern const OpDef op_slice{
    .name = "Slice",
    .doc = "Consecutive elements along each axis.",
    .inputs = "input: T, begin: Index, size: Index",
    .outputs = "output: T",
    .infer = infer_slice,
    .lower = lower_slice,
    .gradient = slice_gradient,
    .constant_rule = slice_elements,
    .traits = {.moves_elements = true},
};
}  // namespace ops
}  // namespace systole
