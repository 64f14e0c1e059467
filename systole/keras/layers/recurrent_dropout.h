// Dropout of recurrent cells: masks drawn once a call and used at all steps.
#pragma once

#include <cstdint>
#include <vector>

#include "systole/graph/core/graph.h"

namespace systole::keras::layers {

// `count` masks [batch, units] with the values 0 and 1 / (1 - rate).
std::vector<Output> dropout_masks(const Output& batch, int64_t units, double rate, int count);

// inputs [time, batch, depth] times kernel [depth, gates * units]; gate g sees inputs * masks[g],
// or masks[0] when there is one mask.
Output project_with_masks(const Output& inputs, const Output& kernel,
                          const std::vector<Output>& masks);

// h [batch, units] times kernel [units, gates * units]; with masks as above, or none.
Output recurrent_product(const Output& h, const Output& kernel, const std::vector<Output>& masks,
                         int gates);

}  // namespace systole::keras::layers
