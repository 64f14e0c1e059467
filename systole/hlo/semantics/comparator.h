// Regions that only compare two elements, as most regions of sort and select_and_scatter do.
// Evaluating such a region as a program costs microseconds per comparison; ComparisonKeys compares
// directly.
#pragma once

#include <compare>
#include <optional>
#include <variant>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// Returns whether the comparison is true for two elements of this order. For unordered elements
// only ne is true.
bool holds_for(ComparisonDirection direction, std::partial_ordering order);

// The region (a0, b0, a1, b1...) -> compare(a<pair>, b<pair>).
struct Comparator {
  int pair = 0;
  CompareAttrs compare;
};
// Returns nullopt if the region does anything else or compares complex numbers.
std::optional<Comparator> match_comparator(const Computation& region);

// The elements of a tensor, converted to keys that order as `type` says.
class ComparisonKeys {
 public:
  ComparisonKeys(const Tensor& elements, ComparisonType type);
  // Returns compare(elements[a], elements[b]); a and b are row-major indices.
  bool holds(ComparisonDirection direction, int64_t a, int64_t b) const;

 private:
  std::variant<std::vector<int64_t>, std::vector<double>> keys_;
};

}  // namespace systole::hlo
