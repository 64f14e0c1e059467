#include <algorithm>
#include <cmath>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/dtype_class.h"
#include "systole/graph/core/where_scope.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

enum : int { kStart, kLimit, kDelta };

int64_t length(const Tensor& start, const Tensor& limit, const Tensor& delta) {
  const double step = delta.as_double(0);
  if (step == 0) throw invalid_argument("delta, got 0, expected another number");
  return std::max<int64_t>(
      static_cast<int64_t>(std::ceil((limit.as_double(0) - start.as_double(0)) / step)), 0);
}

std::vector<TensorType> infer_range(const InferContext& c) {
  const auto start = c.constant_input(kStart);
  const auto limit = c.constant_input(kLimit);
  const auto delta = c.constant_input(kDelta);
  check_dtype("start", c.input(kStart).dtype, DTypeClass::number);
  for (int i = 0; i < 3; ++i) {
    if (c.input(i).shape.rank() != 0 || c.input(i).dtype != c.input(0).dtype) {
      throw invalid_argument(
          "start, limit and delta, got {}, {} and {}, expected scalars of one dtype",
          c.input(kStart), c.input(kLimit), c.input(kDelta));
    }
  }
  const bool known = start && limit && delta;
  return {{c.input(0).dtype, {known ? length(*start, *limit, *delta) : kUnknown}}};
}

std::vector<hlo::Value> lower_range(LowerContext& c) {
  hlo::Builder& b = c.b;
  const int64_t n =
      length(c.constant_input(kStart), c.constant_input(kLimit), c.constant_input(kDelta));
  const TensorType type{c.input(0).dtype(), {n}};
  const hlo::Value steps = b.multiply(b.iota(type, 0), b.broadcast(c.input(kDelta), type.shape));
  return {b.add(b.broadcast(c.input(kStart), type.shape), steps)};
}

std::optional<PartialValue> range_elements(const Output& output) {
  const Node& node = *output.node();
  const auto start = known_elements(node.input(0));
  const auto limit = known_elements(node.input(1));
  const auto delta = known_elements(node.input(2));
  if (!start || !limit || !delta || (*delta)[0] == 0) return std::nullopt;
  std::vector<KnownElement> elements;
  const int64_t step = (*delta)[0];
  for (int64_t i = (*start)[0]; step > 0 ? i < (*limit)[0] : i > (*limit)[0]; i += step) {
    if (static_cast<int64_t>(elements.size()) == kMaxKnownElements) return std::nullopt;
    elements.emplace_back(i);
  }
  return partial_vector(output.dtype(), std::move(elements));
}

}  // namespace

Output range(const Input& start, const Input& limit, const Input& delta,
             const NameOptions& options) {
  const CompositionScope scope(start, options.name, "range");
  const std::vector<Output> inputs =
      resolve("Range", {start, limit, delta}, common_dtype({start, limit, delta}));
  return Graph::current()
      .add_node("Range", inputs, {{"Tidx", inputs.front().dtype()}}, {}, scope.result().name)
      ->output();
}

Output range(const Input& limit, const NameOptions& options) {
  const WhereScope where(limit.where());
  return range(0, limit, 1, options);
}

namespace ops {
extern const OpDef op_range{
    .name = "Range",
    .doc = "Numbers from start on, short of limit.",
    .inputs = "start: Tidx, limit: Tidx, delta: Tidx",
    .outputs = "output: Tidx",
    .infer = infer_range,
    .lower = lower_range,
    .constant_rule = range_elements,
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
