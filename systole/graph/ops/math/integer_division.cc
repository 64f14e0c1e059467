#include "systole/graph/ops/math/integer_division.h"

#include "systole/graph/lowering/run_check.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {

void check_no_element(LowerContext& c, hlo::Value x, hlo::ComparisonDirection direction,
                      std::string_view what) {
  fail_where(c, compare_with(c.b, x, direction, 0),
             fmt::format("{}: {}, {}", c.node.op_name(), what, c.node.describe()));
}

void check_divisor(LowerContext& c, hlo::Value divisor) {
  if (!is_integer(divisor.dtype())) return;
  check_no_element(c, divisor, hlo::ComparisonDirection::eq, "Integer division by zero");
}

hlo::Value rounds_up(hlo::Builder& b, hlo::Value remainder, hlo::Value y) {
  using enum hlo::ComparisonDirection;
  const hlo::Value inexact = compare_with(b, remainder, ne, 0);
  const hlo::Value signs_differ =
      b.compare(compare_with(b, remainder, lt, 0), compare_with(b, y, lt, 0), ne);
  return b.binary(hlo::Opcode::and_, inexact, signs_differ);
}

}  // namespace systole
