#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"
#include "systole/graph/lowering/rows.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

enum : int { kSegmentData, kSegmentIds, kNumSegments };

// data [.., ...], ids [..] -> [num, ...].
Shape segments_shape(const Shape& data, const Shape& ids, int64_t num) {
  bool fits = ids.rank() <= data.rank();
  for (int i = 0; fits && i < ids.rank(); ++i) {
    fits = Shape{ids[i]}.compatible_with({data[i]});
  }
  if (!fits) {
    throw invalid_argument("segment_ids, got {}, expected integers of the first sizes of {}", ids,
                           data);
  }
  Dims dims(data.begin() + ids.rank(), data.end());
  dims.insert(dims.begin(), num);
  return Shape(std::move(dims));
}

std::vector<TensorType> infer_unsorted_segment_sum(const InferContext& c) {
  check_dtype("data", c.input(kSegmentData).dtype, DTypeClass::number);
  const TensorType& ids = c.input(kSegmentIds);
  if (!is_integer(ids.dtype)) {
    throw invalid_argument("segment_ids, got {}, expected integers of the first sizes of {}", ids,
                           c.input(kSegmentData));
  }
  const TensorType& count = c.input(kNumSegments);
  if (!is_integer(count.dtype) || count.shape.rank() != 0) {
    throw invalid_argument("num_segments, got {}, expected an integer scalar", count);
  }
  int64_t num = kUnknown;
  if (const auto known = c.constant_input(kNumSegments)) {
    num = static_cast<int64_t>(known->as_double(0));
    if (num < 0) throw invalid_argument("num_segments, got {}, expected at least 1", num);
  }
  return {
      {c.input(kSegmentData).dtype, segments_shape(c.input(kSegmentData).shape, ids.shape, num)}};
}

// A row of the first of equal elements is in its place already.
bool keeps_first_rows(const Node& node) {
  const Output ids = node.input(kSegmentIds);
  return ids.node()->op_name() == "Unique" && ids.index() == 1;
}

// Rows whose ids are no segment's are dropped. 16-bit rows are added up in f32.
std::vector<hlo::Value> lower_unsorted_segment_sum(LowerContext& c) {
  hlo::Builder& b = c.b;
  const hlo::Value data = c.input(kSegmentData);
  const Shape& ids_shape = c.input(kSegmentIds).shape();
  const int64_t num = c.constant_ints(kNumSegments).at(0);
  const Shape shape = segments_shape(data.shape(), ids_shape, num);
  Dims rows_dims = shape.dims();
  rows_dims[0] = ids_shape.num_elements();
  const DType sum = accumulation_dtype(data.dtype());
  const hlo::Value rows = b.convert(b.reshape(data, Shape(rows_dims)), sum);
  hlo::Value ids = b.reshape(wide_integers(b, c.input(kSegmentIds)), {ids_shape.num_elements()});
  hlo::Value start = b.splat({sum, shape}, 0);
  if (keeps_first_rows(c.node) && num == rows_dims[0]) {
    const hlo::Value at_home = b.compare(ids, b.iota(ids.type(), 0), hlo::ComparisonDirection::eq);
    ids = b.select(at_home, b.splat_like(ids, -1), ids);
    start = rows;
  }
  return {b.convert(add_rows(b, start, ids, rows), data.dtype())};
}

std::vector<Output> unsorted_segment_sum_gradient(GradientContext& c) {
  const Output ids = c.input(kSegmentIds);
  const Output rows = gather(c.grad(), ids);
  Output kept =
      logical_and(greater_equal(ids, 0), less(to_int64(ids), to_int64(c.input(kNumSegments))));
  for (int i = ids.shape().rank(); i < rows.shape().rank(); ++i) kept = expand_dims(kept, -1);
  return {where_v2(kept, rows, 0), {}, {}};
}

}  // namespace

Output unsorted_segment_sum(const Input& data, const Input& segment_ids, int64_t num_segments,
                            const NameOptions& options) {
  constexpr std::string_view kOp = "UnsortedSegmentSum";
  const CompositionScope scope(data, options.name, kOp);
  with_op(kOp, data.where(), [&] {
    if (num_segments >= 1) return;
    throw invalid_argument("num_segments, got {}, expected at least 1", num_segments);
  });
  const Output x = resolve(kOp, data);
  const Output ids = resolve(kOp, segment_ids);
  return Graph::current()
      .add_node(kOp, {x, ids, int_constant(num_segments, "num_segments")}, {}, data.where(),
                scope.result().name)
      ->output();
}

namespace ops {
extern const OpDef op_unsorted_segment_sum{
    .name = "UnsortedSegmentSum",
    .doc = "Adds up slices by the numbers of their segments; those of no segment are dropped.",
    .inputs = "data: T, segment_ids: Tindices, num_segments: Tnumsegments",
    .outputs = "output: T",
    .infer = infer_unsorted_segment_sum,
    .lower = lower_unsorted_segment_sum,
    .gradient = unsorted_segment_sum_gradient,
};
}  // namespace ops
}  // namespace systole
