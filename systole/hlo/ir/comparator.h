// Regions that only compare: what sort and select_and_scatter mostly have. Running one as a program
// costs microseconds a comparison; here it is one comparison of keys.
#pragma once

#include <compare>
#include <optional>
#include <variant>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// Whether two elements of this order stand in this relation; none does when they are unordered, but
// ne.
bool holds_for(ComparisonDirection direction, std::partial_ordering order);

// The region (a0, b0, a1, b1...) -> compare(a<pair>, b<pair>).
struct Comparator {
  int pair = 0;
  CompareAttrs compare;
};
// nullopt when the region is anything else, or compares complex numbers.
std::optional<Comparator> match_comparator(const Computation& region);

// The elements of a tensor in a form that orders as `type` says.
class ComparisonKeys {
 public:
  ComparisonKeys(const Tensor& elements, ComparisonType type);
  // compare(elements[a], elements[b]), both row-major indices.
  bool holds(ComparisonDirection direction, int64_t a, int64_t b) const;

 private:
  std::variant<std::vector<int64_t>, std::vector<double>> keys_;
};

}  // namespace systole::hlo
