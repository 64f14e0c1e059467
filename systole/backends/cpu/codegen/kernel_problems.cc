#include "systole/backends/cpu/codegen/kernel_problems.h"

#include <algorithm>

#include "systole/backends/cpu/analysis/sort_order.h"
#include "systole/hlo/passes/fusion.h"

namespace systole::cpu {

using hlo::Instruction;
using hlo::Opcode;

namespace {

constexpr double kParallelElements = 4096;

}  // namespace

SortProblem sort_problem(const Instruction& x, int num_threads) {
  const Shape& shape = x.shape();
  const int axis = normalize_axis("sort", x.attrs<hlo::SortAttrs>().dimension, shape.rank());
  SortProblem p;
  for (int d = 0; d < shape.rank(); ++d) {
    (d < axis ? p.outer : d > axis ? p.inner : p.length) *= shape[d];
  }
  p.wanted = sorted_elements_read(x);
  p.parts = static_cast<double>(shape.num_elements()) < kParallelElements ? 1 : num_threads;
  for (const TensorType& type : x.results()) p.sizes.push_back(size_of(type.dtype));
  if (const auto order = match_sort_order(x)) {
    p.keys = SortKeys{order->key.dtype(), order->total, order->descending};
    if (order->key.def->is(Opcode::parameter))
      p.keys->operand = static_cast<int>(order->key.def->attrs<hlo::ParameterAttrs>().index / 2);
  }
  return p;
}

JoinedRows joined_rows(const Instruction& x, int64_t first, int64_t streamed_bytes) {
  const auto axis = static_cast<int>(x.attrs<hlo::ConcatenateAttrs>().dimension);
  JoinedRows joined;
  for (int d = 0; d < axis; ++d) joined.rows *= x.shape()[d];
  const auto row_bytes = [&](const TensorType& array) { return array.byte_size() / joined.rows; };
  joined.row_bytes = row_bytes(x.type());
  joined.streamed = x.type().byte_size() >= streamed_bytes;
  const int64_t end = std::min<int64_t>(first + hlo::kMaxJoined, x.num_operands());
  for (int64_t i = 0; i < end; ++i) {
    const int64_t piece = row_bytes(x.operand(static_cast<int>(i)).type());
    if (i < first) {
      joined.offset += piece;
    } else if (piece > 0) {
      joined.pieces.push_back(piece);
    }
  }
  return joined;
}

std::vector<PaddedAxis> padded_axes(const Instruction& x) {
  const auto& attrs = x.attrs<hlo::PadAttrs>();
  std::vector<PaddedAxis> axes;
  for (int d = 0; d < x.shape().rank(); ++d) {
    const auto u = static_cast<size_t>(d);
    const int64_t low = attrs.edge_padding_low[u];
    const int64_t all = x.operand(0).shape()[d];
    const int64_t begin = std::max<int64_t>(-low, 0);
    const int64_t end = std::min(all, x.shape()[d] - low);
    if (attrs.interior_padding[u] != 0 || begin >= end) return {};
    axes.push_back({.size = x.shape()[d],
                    .low = begin + low,
                    .count = end - begin,
                    .first = begin,
                    .operand_size = all});
  }
  return axes;
}

}  // namespace systole::cpu
