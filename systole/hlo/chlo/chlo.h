// The client ops of StableHLO's CHLO dialect, written as StableHLO opcodes.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/builder.h"

namespace systole::hlo::chlo {

// The attributes of all ops; an op reads its own and leaves the others alone.
struct Attrs {
  std::optional<Dims> broadcast_dimensions;  // broadcast_*: axes of the operand of smaller rank
  ComparisonDirection comparison_direction = ComparisonDirection::eq;  // broadcast_compare
  ComparisonType compare_type = ComparisonType::notype;                // broadcast_compare
  int64_t k = 0;                                                       // top_k
  Tensor value;  // constant: the value; constant_like: a scalar
};

// Appends instructions with the op's value to the builder's computation and returns its results.
// `declared` holds the result types that the text gives, and may be empty; the results follow from
// the operands, so a caller that has declared types compares them. Thread-safe as the builder is.
// Errors: INVALID_ARGUMENT `chlo.<op>: <what>, got <value>, expected <value>`.
using Expand = std::vector<Value> (*)(Builder& b, std::span<const Value> operands,
                                      const Attrs& attrs, std::span<const TensorType> declared);

struct NamedExpansion {
  std::string_view name;  // "erf_inv"
  Expand expand;
};

// Every op that has an expansion, sorted by name.
std::span<const NamedExpansion> all_expansions();

// The expansion of `chlo.<name>`; nullptr when there is none.
Expand find_expansion(std::string_view name);

// The value of an op that has one result and reads no attribute: expand(b, "erf", {x}).
// Errors: those of its expansion; INTERNAL when there is none.
Value expand(Builder& b, std::string_view name, std::initializer_list<Value> operands);

}  // namespace systole::hlo::chlo
