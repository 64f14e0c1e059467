// What is known of a tensor's value while the graph is built: constants, and integer arithmetic on
// shapes.
#pragma once

#include <optional>
#include <vector>

#include "systole/graph/core/graph.h"

namespace systole {

using KnownElement = std::optional<int64_t>;

// An integer scalar or vector of which some elements are known.
struct PartialValue {
  DType dtype = DType::s32;
  Shape shape;  // static, rank 0 or 1
  std::vector<KnownElement> elements;

  bool known() const;
  Tensor tensor() const;  // REQUIRES: known()
};

// Returns what OpDef::constant_rule of the node knows; nullopt when not even the number of elements
// is known. Follows a function's captures to the graph around it; up to 1,000 nodes deep.
std::optional<PartialValue> partial_value(Output value);

// The whole value: of any dtype when it is a constant, else of a partial value that is all known.
std::optional<Tensor> constant_value(Output value);

// The value outside for one that a function captured, as far out as it goes; `value` itself
// otherwise.
Output resolve_capture(Output value);

// -- For the rules of ops. A rule gets an integer output of the node.

// Longer vectors are data, not shapes: nothing is known of them.
constexpr int64_t kMaxKnownElements = 1024;

PartialValue partial_scalar(DType dtype, KnownElement element);
PartialValue partial_vector(DType dtype, std::vector<KnownElement> elements);
// The elements of a value that is all known.
std::optional<std::vector<int64_t>> known_elements(const Output& value);
// For ops that keep the elements of their first input: the same ones with the output's type.
std::optional<PartialValue> same_elements(const Output& output);
// For arithmetic on two inputs of which one may be a scalar.
std::optional<PartialValue> elementwise_elements(const Output& output,
                                                 KnownElement (*rule)(int64_t, int64_t));
// For reductions to a scalar.
std::optional<PartialValue> reduced_element(const Output& output, int64_t initial,
                                            int64_t (*rule)(int64_t, int64_t));

}  // namespace systole
