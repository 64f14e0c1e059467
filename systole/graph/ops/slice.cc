#include "systole/graph/array_common.h"
#include "systole/graph/array_ops.h"
#include "systole/graph/math_ops.h"
#include "systole/graph/node_builder.h"

namespace systole {
namespace {

enum : int { kInput, kBegin, kSize };

// An unknown begin is -1 here; a size of -1 takes what remains.
std::vector<TensorType> infer(const InferContext& c) {
  const Shape& x = c.input(kInput).shape;
  const auto begin = c.input_as_shape(kBegin);
  const auto size = c.input_as_shape(kSize);
  const auto has_rank = [&](const auto& s) { return s && s->rank() == x.rank(); };
  if (!has_rank(begin) || !has_rank(size)) {
    throw invalid_argument("begin and size, got {} and {} for a tensor of {}, expected {} numbers each",
                           c.input(kBegin), c.input(kSize), x, x.rank());
  }
  const bool remaining = c.constant_input(kSize).has_value();  // else -1 is a size not known yet
  Shape result = *size;
  for (int i = 0; i < x.rank(); ++i) {
    const int64_t from = (*begin)[i];
    if ((*size)[i] == kUnknown) {
      if (remaining && from != kUnknown && x[i] != kUnknown) result.set_dim(i, x[i] - from);
    } else if (x[i] != kUnknown && from != kUnknown && from + (*size)[i] > x[i]) {
      throw invalid_argument("axis {} of {}, got elements [{}, {}), expected within [0, {})", i, x, from,
                             from + (*size)[i], x[i]);
    }
  }
  return {{c.input(kInput).dtype, result}};
}

std::vector<hlo::Value> lower(LowerContext& c) {
  const Shape& x = c.input(kInput).shape();
  const std::vector<int64_t> begin = c.constant_ints(kBegin);
  const std::vector<int64_t> size = c.constant_ints(kSize);
  Dims limit;
  for (size_t i = 0; i < begin.size(); ++i) {
    limit.push_back(size[i] == kUnknown ? x[static_cast<int>(i)] : begin[i] + size[i]);
  }
  return {c.b.slice(c.input(kInput), Dims(begin.begin(), begin.end()), limit)};
}

// The gradient at its place among zeros.
std::vector<Output> gradient(GradientContext& c) {
  const Output before = c.input(kBegin);
  const Output extent = cast(shape(c.output()), before.dtype());
  const Output after = subtract(subtract(cast(shape(c.input(kInput)), before.dtype()), before), extent);
  return {pad_tensor(c.grad(), stack({before, after}, {.axis = 1}), 0), {}, {}};
}

}  // namespace

Output slice(Input input, const ShapeInput& begin, const ShapeInput& size, const NameOptions& options) {
  const Output x = resolve("Slice", input);
  return Graph::current()
      .add_node("Slice", {x, resolve("Slice", begin), resolve("Slice", size)}, {{"T", x.dtype()}}, input.where(),
                options.name)
      ->output();
}

namespace ops {
extern const OpDef op_slice;
const OpDef op_slice{
    .name = "Slice",
    .doc = "Consecutive elements along each axis.",
    .infer = infer,
    .lower = lower,
    .gradient = gradient,
};
}  // namespace ops
}  // namespace systole
