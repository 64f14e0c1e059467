// The broadcast_* ops: operands are broadcast to a common shape, then the op is applied.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "systole/stablehlo/chlo/expansion.h"

namespace systole::hlo::chlo {

// Broadcasts the operands to their common shape by NumPy's rule: trailing axes are aligned and
// sizes of 1 expand. With `broadcast_dimensions`, axis i of the operand of smaller rank becomes
// axis broadcast_dimensions[i]. Errors: INVALID_ARGUMENT, beginning with `op`: a number of operands
// other than 2, different sizes, broadcast_dimensions that are not increasing axes.
std::vector<Value> broadcast_operands(Builder& b, std::string_view op,
                                      std::span<const Value> operands, const Attrs& attrs);

// Returns the smallest shape to which both broadcast. Errors: INVALID_ARGUMENT, beginning with
// `op`.
Shape common_shape(std::string_view op, const Shape& x, const Shape& y);

// `broadcast_<opcode>`.
std::vector<Value> expand_broadcast_form(Opcode opcode, Builder& b, std::span<const Value> operands,
                                         const Attrs& attrs);
template <Opcode opcode>
std::vector<Value> expand_broadcast_form(Builder& b, std::span<const Value> operands,
                                         const Attrs& attrs, std::span<const TensorType>) {
  return expand_broadcast_form(opcode, b, operands, attrs);
}

// Expands `broadcast_<op>` of a CHLO op on two operands with that op's expansion.
template <const Expand& expand>
std::vector<Value> broadcast_then(Builder& b, std::span<const Value> operands, const Attrs& attrs,
                                  std::span<const TensorType> declared) {
  return expand(b, broadcast_operands(b, "chlo.broadcast", operands, attrs), attrs, declared);
}

}  // namespace systole::hlo::chlo
