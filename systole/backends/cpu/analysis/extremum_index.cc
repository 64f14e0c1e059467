#include "systole/backends/cpu/analysis/extremum_index.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "systole/backends/cpu/analysis/row_access.h"
#include "systole/hlo/semantics/evaluator.h"

namespace systole::cpu {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

bool compares_as_numbers(const Instruction& x) {
  return x.attrs<hlo::CompareAttrs>().compare_type != hlo::ComparisonType::totalorder;
}

// What it returns depends on nothing but how its two values, and how its two indices, are ordered.
bool depends_on_order_alone(const Computation& region) {
  const DType value = region.parameter(0).dtype();
  const DType index = region.parameter(1).dtype();
  // Values and indices of one type could be compared with each other.
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

enum class Extremum : uint8_t { greatest, least };

struct Pair {
  double value;
  double index;
};

// A NaN is better than any number, and of equals the one with the lower index.
Pair better(const Pair& a, const Pair& z, Extremum extremum) {
  const bool a_nan = std::isnan(a.value);
  const bool z_nan = std::isnan(z.value);
  if (a.value == z.value || (a_nan && z_nan)) return {a.value, std::min(a.index, z.index)};
  if (a_nan || z_nan) return a_nan ? a : z;
  return (a.value > z.value) == (extremum == Extremum::greatest) ? a : z;
}

bool same_pair(const Pair& a, const Pair& z) {
  const bool both_nan = std::isnan(a.value) && std::isnan(z.value);
  return (both_nan || a.value == z.value) && a.index == z.index;
}

// Whether the region makes the better pair: it is asked for every way in which its arguments can be
// ordered.
bool chooses_better(const Computation& region, Extremum extremum) {
  const DType value = region.parameter(0).dtype();
  const DType index = region.parameter(1).dtype();
  std::vector<double> values = {0, 1};
  if (is_floating(value)) values.push_back(std::numeric_limits<double>::quiet_NaN());
  const auto scalar = [](DType dtype, double x) { return Tensor::full(dtype, {}, x); };
  for (const double a : values) {
    for (const double z : values) {
      for (const auto& [i, j] : {std::pair{0., 1.}, {0., 0.}, {1., 0.}}) {
        const Tensor arguments[] = {scalar(value, a), scalar(index, i), scalar(value, z),
                                    scalar(index, j)};
        const auto results = hlo::Evaluator().run(region, arguments);
        const Pair made = {results[0].as_double(0), results[1].as_double(0)};
        if (!same_pair(made, better({a, i}, {z, j}, extremum))) return false;
      }
    }
  }
  return true;
}

}  // namespace

bool finds_extremum_index(const Instruction& x) {
  if (!x.is(Opcode::reduce) || x.num_results() != 2 || is_used({const_cast<Instruction*>(&x), 0}))
    return false;
  const Computation& region = x.region();
  return !is_complex(region.parameter(0).dtype()) && is_integer(region.parameter(1).dtype()) &&
         depends_on_order_alone(region) &&
         (chooses_better(region, Extremum::greatest) || chooses_better(region, Extremum::least));
}

}  // namespace systole::cpu
