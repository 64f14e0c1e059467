// The gradient of While, in user ops.
#pragma once

#include <string_view>
#include <vector>

#include "systole/graph/core/op_def.h"

namespace systole {

// A loop over the iterations from the last to the first. Each runs the body again from the
// variables that the forward loop kept, and carries back the gradients of the variables that
// change; for the values that stay it adds up theirs.
std::vector<Output> loop_gradient(GradientContext& c);

// Entry `index` of a stack of values, [n, ...]: [...]. Differentiable.
Output read_history(Output history, Output index);
// The same of an element that the function `op` goes through. That it has as many rows as `like`,
// and one at least, is checked when the program is specialised.
Output read_row(std::string_view op, Output elem, Output index, Output like);
// Zeros of the shape `like`, with `value` at entry `index`.
Output write_history(Output like, Output value, Output index);

}  // namespace systole
