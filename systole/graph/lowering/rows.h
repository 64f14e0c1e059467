// Rows of a tensor: its slices along the first axis, by number.
#pragma once

#include "systole/hlo/ir/builder.h"

namespace systole {

// `ids` are integers [n], `rows` [n, ...]. Numbers outside of x: gather_rows() takes the nearest
// row, the others skip them.
hlo::Value gather_rows(hlo::Builder& b, hlo::Value x, hlo::Value ids);
// x with `rows` added, in their order.
hlo::Value add_rows(hlo::Builder& b, hlo::Value x, hlo::Value ids, hlo::Value rows);
// x with `rows` in place of its own. REQUIRES: no number inside of x occurs twice.
hlo::Value replace_rows(hlo::Builder& b, hlo::Value x, hlo::Value ids, hlo::Value rows);

}  // namespace systole
