#include "systole/stablehlo/chlo/broadcast.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "systole/base/error.h"
#include "systole/hlo/semantics/checks.h"

namespace systole::hlo::chlo {
namespace {

// Inserts axes of size 1 up to `rank`: axis i of x becomes axis dimensions[i].
Value align(Builder& b, std::string_view op, Value x, int rank, const Dims& dimensions) {
  const bool increasing =
      std::ranges::adjacent_find(dimensions, std::ranges::greater_equal{}) == dimensions.end();
  const bool inside = dimensions.empty() || (dimensions.front() >= 0 && dimensions.back() < rank);
  if (static_cast<int>(dimensions.size()) != x.shape().rank() || !increasing || !inside) {
    throw invalid_argument("{}: broadcast_dimensions, got {}, expected {} increasing axes below {}",
                           op, to_string(dimensions), x.shape().rank(), rank);
  }
  Shape shape{Dims(static_cast<size_t>(rank), 1)};
  for (int i = 0; i < x.shape().rank(); ++i) {
    shape.set_dim(static_cast<int>(dimensions[i]), x.shape()[i]);
  }
  return x.shape() == shape ? x : b.reshape(x, shape);
}

Dims trailing_axes(int count, int rank) {
  Dims axes(static_cast<size_t>(count));
  std::iota(axes.begin(), axes.end(), rank - count);
  return axes;
}

}  // namespace

Shape common_shape(std::string_view op, const Shape& x, const Shape& y) {
  const Shape& longer = x.rank() >= y.rank() ? x : y;
  const Shape& shorter = x.rank() >= y.rank() ? y : x;
  const int offset = longer.rank() - shorter.rank();
  Shape result = longer;
  for (int i = 0; i < shorter.rank(); ++i) {
    const int64_t size = result[offset + i];
    if (size == shorter[i] || shorter[i] == 1) continue;
    if (size != 1) {
      throw invalid_argument("{}: shapes, got {} and {}, expected equal sizes or sizes of 1", op, x,
                             y);
    }
    result.set_dim(offset + i, shorter[i]);
  }
  return result;
}

std::vector<Value> broadcast_operands(Builder& b, std::string_view op,
                                      std::span<const Value> operands, const Attrs& attrs) {
  if (operands.size() != 2) {
    throw invalid_argument("{}: operands, got {}, expected 2", op, operands.size());
  }
  const int ranks[] = {operands[0].shape().rank(), operands[1].shape().rank()};
  const int rank = std::max(ranks[0], ranks[1]);
  Value aligned[2];
  for (int i = 0; i < 2; ++i) {
    const bool smaller = ranks[i] == std::min(ranks[0], ranks[1]);
    const Dims trailing = trailing_axes(ranks[i], rank);
    aligned[i] = align(b, op, operands[i], rank,
                       smaller ? attrs.broadcast_dimensions.value_or(trailing) : trailing);
  }
  const Shape shape = common_shape(op, aligned[0].shape(), aligned[1].shape());
  return {b.broadcast(aligned[0], shape), b.broadcast(aligned[1], shape)};
}

std::vector<Value> expand_broadcast_form(Opcode opcode, Builder& b, std::span<const Value> operands,
                                         const Attrs& attrs) {
  const std::string op = fmt::format("chlo.broadcast_{}", opcode);
  hlo::Attrs opcode_attrs = NoAttrs{};
  if (opcode == Opcode::compare) {
    opcode_attrs = CompareAttrs{attrs.comparison_direction, attrs.compare_type};
  }
  return {b.op(opcode, broadcast_operands(b, op, operands, attrs), opcode_attrs)->result()};
}

}  // namespace systole::hlo::chlo
