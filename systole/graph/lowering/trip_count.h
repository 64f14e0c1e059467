// The number of iterations of an HLO loop, where constants decide it.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"

namespace systole {

// A loop that is being built: parameter i of both is carried value i, `next` are the body's
// results.
struct LoopParts {
  hlo::Computation& cond;
  hlo::Value cond_result;
  hlo::Computation& body;
  std::span<const hlo::Value> next;
};

// Runs the part of the loop that its condition depends on, from the initial values that `initial`
// knows. nullopt when that needs a value that is not known, or more than a million iterations.
std::optional<int64_t> find_trip_count(const LoopParts& loop,
                                       const std::function<std::optional<Tensor>(int)>& initial);

}  // namespace systole
