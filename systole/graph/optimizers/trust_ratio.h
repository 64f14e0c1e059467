// What LAMB and LARS share: rates that are as large as the parameter beside its step.
#pragma once

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/optimizers/term.h"

namespace systole::rules {

// The root of the sum of squares of a whole tensor.
inline Output l2_norm(const Term& x) { return sqrt(reduce_sum(square(x.tensor()))); }

// `ratio` where both norms are above 0, else 1.
inline Term trusted(const Output& parameter_norm, const Output& step_norm, const Term& ratio) {
  return where_v2(greater(parameter_norm, 0), where_v2(greater(step_norm, 0), ratio.tensor(), 1),
                  1);
}

}  // namespace systole::rules
