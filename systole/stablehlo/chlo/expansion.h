// The expansion of an op of CHLO.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/builder.h"

namespace systole::hlo::chlo {

// The attributes of all ops; each op reads its own and ignores the others.
struct Attrs {
  std::optional<Dims> broadcast_dimensions;  // broadcast_*: axes of the operand of smaller rank
  ComparisonDirection comparison_direction = ComparisonDirection::eq;  // broadcast_compare
  ComparisonType compare_type = ComparisonType::notype;                // broadcast_compare
  int64_t k = 0;                                                       // top_k
  Tensor value;  // constant: the value; constant_like: a scalar
};

// Appends instructions that compute the op and returns its results. `declared` holds the result
// types that the text gives, or is empty. The results follow from the operands; callers with
// declared types compare them. As thread-safe as the builder. Errors: INVALID_ARGUMENT `chlo.<op>:
// <what>, got <value>, expected <value>`.
using Expand = std::vector<Value> (*)(Builder& b, std::span<const Value> operands,
                                      const Attrs& attrs, std::span<const TensorType> declared);

struct NamedExpansion {
  std::string_view name;  // "erf_inv"
  Expand expand;
};

}  // namespace systole::hlo::chlo
