#include "systole/backends/cpu/passes/dot_strength_reduction.h"

#include "systole/backends/cpu/kernels/onednn_dot.h"
#include "systole/backends/cpu/passes/rewrite_each.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/ir/builder.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

bool is_thin(const Instruction& x) {
  if (!x.is(Opcode::dot_general) || x.dtype() != x.operand(0).dtype()) return false;
  for (const int64_t axis : DotAxes(x).lhs_contracting) {
    if (x.operand(0).shape()[static_cast<int>(axis)] != 1) return false;
  }
  return true;
}

// The operand with its axes, those contracted left out, at their places in the result.
Value spread(hlo::Builder& b, Value operand, const Dims& batch, const Dims& free,
             int64_t first_free, const Shape& result) {
  std::vector<std::pair<int64_t, int64_t>> places;  // operand axis, result axis
  for (size_t k = 0; k < batch.size(); ++k) places.emplace_back(batch[k], static_cast<int64_t>(k));
  for (size_t k = 0; k < free.size(); ++k)
    places.emplace_back(free[k], first_free + static_cast<int64_t>(k));
  std::ranges::sort(places);
  Dims sizes;
  Dims axes;
  for (const auto& [from, to] : places) {
    sizes.push_back(operand.shape()[static_cast<int>(from)]);
    axes.push_back(to);
  }
  return b.broadcast_in_dim(b.reshape(operand, Shape(sizes)), result, axes);
}

bool rewrite_thin_dot(Instruction& x) {
  if (!is_thin(x)) return false;
  const DotAxes axes(x);
  hlo::Builder b(x.parent(), &x);
  b.set_metadata(x.metadata());
  const auto batch = static_cast<int64_t>(axes.lhs_batch.size());
  const Value lhs = spread(b, x.operand(0), axes.lhs_batch, axes.lhs_free, batch, x.shape());
  const Value rhs = spread(b, x.operand(1), axes.rhs_batch, axes.rhs_free,
                           batch + static_cast<int64_t>(axes.lhs_free.size()), x.shape());
  const Value product = b.multiply(lhs, rhs);
  hlo::replace_and_erase(x, {&product, 1});
  return true;
}

}  // namespace

bool DotStrengthReduction::run(hlo::Module& module) {
  return rewrite_each(module, rewrite_thin_dot);
}

}  // namespace systole::cpu
