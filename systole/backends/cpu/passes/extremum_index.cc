#include "systole/backends/cpu/passes/extremum_index.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "systole/backends/cpu/analysis/row_access.h"
#include "systole/backends/cpu/passes/rewrite_each.h"
#include "systole/hlo/builder.h"
#include "systole/hlo/evaluator.h"
#include "systole/hlo/passes/analysis.h"
#include "systole/hlo/passes/match.h"

namespace systole::cpu {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

constexpr int64_t kLeastRow = 64;  // elements that are worth two loops

bool compares_as_numbers(const Instruction& x) {
  return x.attrs<hlo::CompareAttrs>().compare_type != hlo::ComparisonType::totalorder;
}

// What it returns depends on nothing but how its two values, and how its two indices, are ordered.
bool depends_on_order_alone(const Computation& region) {
  const DType value = region.parameter(0).dtype();
  const DType index = region.parameter(1).dtype();
  // Of one type they could be compared with each other.
  if (value == index || value == DType::pred || index == DType::pred) return false;
  return std::ranges::all_of(region.instructions(), [&](const Instruction* x) {
    const auto operands = x->operands();
    if (!std::ranges::all_of(operands, [&](Value v) { return &v.def->parent() == &region; }))
      return false;
    switch (x->opcode()) {
      case Opcode::parameter:
      case Opcode::return_:
      case Opcode::select:
      case Opcode::maximum:
      case Opcode::minimum:
        return true;
      case Opcode::compare:
        return compares_as_numbers(*x);
      case Opcode::and_:
      case Opcode::or_:
      case Opcode::xor_:
      case Opcode::not_:
        return x->dtype() == DType::pred;
      default:
        return false;
    }
  });
}

struct Pair {
  double value;
  double index;
};

// A NaN is better than any number, and of equals the one with the lower index.
double better_index(const Pair& a, const Pair& z, Opcode extremum) {
  const bool a_nan = std::isnan(a.value);
  const bool z_nan = std::isnan(z.value);
  if (a.value == z.value || (a_nan && z_nan)) return std::min(a.index, z.index);
  if (a_nan || z_nan) return a_nan ? a.index : z.index;
  return (a.value > z.value) == (extremum == Opcode::maximum) ? a.index : z.index;
}

// Whether the region chooses the index so: it is asked for every way in which its arguments can be
// ordered.
bool chooses_index(const Computation& region, Opcode extremum) {
  const DType value = region.parameter(0).dtype();
  const DType index = region.parameter(1).dtype();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values = {0, 1};
  if (is_floating(value)) values.push_back(kNan);
  const auto scalar = [](DType dtype, double x) { return Tensor::full(dtype, {}, x); };
  for (const double a : values) {
    for (const double z : values) {
      for (const auto& [i, j] : {std::pair{0., 1.}, {0., 0.}, {1., 0.}}) {
        const Tensor arguments[] = {scalar(value, a), scalar(index, i), scalar(value, z),
                                    scalar(index, j)};
        const auto results = hlo::Evaluator().run(region, arguments);
        if (results[1].as_double(0) != better_index({a, i}, {z, j}, extremum)) return false;
      }
    }
  }
  return true;
}

bool counts_along(Value x, int64_t axis) {
  if (x.def->is(Opcode::iota)) return x.def->attrs<hlo::IotaAttrs>().iota_dimension == axis;
  if (!x.def->is(Opcode::broadcast_in_dim) || !x.def->operand(0).def->is(Opcode::iota))
    return false;
  const Instruction& iota = *x.def->operand(0).def;
  const Dims& axes = x.def->attrs<hlo::DimensionsAttrs>().dimensions;
  return axes[static_cast<size_t>(iota.attrs<hlo::IotaAttrs>().iota_dimension)] == axis;
}

bool is_constant(Value x, Value expected) {
  const Tensor* constant = hlo::constant_of(x);
  return constant != nullptr && hlo::same_element(*constant, *hlo::constant_of(expected));
}

// Two operands along the last axis, the second of which counts its elements; no one wants the value
// itself.
bool may_be_extremum(const Instruction& x) {
  if (!x.is(Opcode::reduce) || x.num_results() != 2 || is_used({const_cast<Instruction*>(&x), 0}))
    return false;
  const Shape& shape = x.operand(0).shape();
  const int64_t axis = shape.rank() - 1;
  if (x.attrs<hlo::DimensionsAttrs>().dimensions != Dims{axis} ||
      shape[static_cast<int>(axis)] < kLeastRow)
    return false;
  const Tensor* first = hlo::constant_of(x.operand(3));
  return !is_complex(x.operand(0).dtype()) && is_integer(x.operand(1).dtype()) &&
         counts_along(x.operand(1), axis) && first != nullptr && first->as_double(0) >= 0 &&
         depends_on_order_alone(x.region());
}

void rewrite_extremum(Instruction& x, Opcode extremum, hlo::Builder& b) {
  const Value values = x.operand(0);
  const Value indices = x.operand(1);
  const int64_t axis = values.shape().rank() - 1;
  Dims kept(static_cast<size_t>(axis));
  std::iota(kept.begin(), kept.end(), 0);
  const Value best = b.reduce(values, extremum, {axis});
  const Value all = b.broadcast_in_dim(best, values.shape(), kept);
  using enum hlo::ComparisonDirection;
  Value ties = b.compare(values, all, eq);
  // Where the best is a NaN nothing equals it.
  if (is_floating(values.dtype()))
    ties = b.binary(Opcode::or_, ties, b.compare(values, values, ne));
  const Value behind =
      b.broadcast_in_dim(b.identity(Opcode::minimum, indices.dtype()), values.shape(), {});
  const Value first = b.reduce(b.select(ties, indices, behind), Opcode::minimum, {axis});
  const Value results[] = {best, first};
  hlo::replace_and_erase(x, results);
}

bool rewrite_extrema(Instruction& x) {
  if (!may_be_extremum(x)) return false;
  hlo::Builder b(x.parent(), &x);
  b.set_metadata(x.metadata());
  for (const Opcode extremum : {Opcode::maximum, Opcode::minimum}) {
    // Nothing is worse than the initial value: it ties with elements only where all are equal.
    if (!is_constant(x.operand(2), b.identity(extremum, x.operand(0).dtype())) ||
        !chooses_index(x.region(), extremum))
      continue;
    rewrite_extremum(x, extremum, b);
    return true;
  }
  return false;
}

}  // namespace

bool ExtremumIndex::run(hlo::Module& module) { return rewrite_each(module, rewrite_extrema); }

}  // namespace systole::cpu
