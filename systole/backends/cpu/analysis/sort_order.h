// What a sort's comparator orders by, and how much of the sorted elements anybody reads.
#pragma once

#include <optional>

#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// The comparator orders by one key, a function of the elements of one place.
struct SortOrder {
  // Computed inside the comparator from its left elements: parameters 0, 2, 4... A parameter itself
  // when elements are ordered as they are.
  hlo::Value key;
  // Floats in IEEE-754's total order. Else as numbers: zeros are equal, and NaNs equal to each
  // other and above all numbers (where a comparator says nothing of NaNs, that is an order as good
  // as any).
  bool total = false;
  bool descending = false;
};

// nullopt when the comparator is of another form: compare(key(left), key(right)) in either
// direction, or that with a clause that puts NaN above all numbers.
std::optional<SortOrder> match_sort_order(const hlo::Instruction& sort);

// Of each sorted slice, no more than so many leading elements are read.
int64_t sorted_elements_read(const hlo::Instruction& sort);

}  // namespace systole::cpu
