// The order of a sort's comparator, and the number of sorted elements that are read.
#pragma once

#include <optional>

#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// The comparator compares one key, a function of the elements at one position.
struct SortOrder {
  // Computed in the comparator from its left elements, parameters 0, 2, 4... A parameter itself if
  // elements are compared directly.
  hlo::Value key;
  // True: floats in IEEE 754's total order. False: as numbers; zeros are equal, NaNs are equal and
  // above all numbers.
  bool total = false;
  bool descending = false;
};

// Recognises compare(key(left), key(right)) in either direction, also with a clause that orders NaN
// above all numbers. Returns nullopt for other comparators.
std::optional<SortOrder> match_sort_order(const hlo::Instruction& sort);

// Returns the number of leading elements of each sorted slice that are read.
int64_t sorted_elements_read(const hlo::Instruction& sort);

}  // namespace systole::cpu
