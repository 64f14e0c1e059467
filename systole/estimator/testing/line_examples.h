// Examples of a linear function, for tests that fit it.
#pragma once

#include <cstdint>
#include <functional>

#include "systole/data/dataset.h"

namespace systole::testing {

// (x, y) of [n, 1] each: x = x_of(i), y = slope * x.
inline Element line_examples(int64_t n, float slope, const std::function<float(int64_t i)>& x_of) {
  Tensor x(DType::f32, {n, 1});
  Tensor y(DType::f32, {n, 1});
  for (int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<size_t>(i);
    x.data<float>()[at] = x_of(i);
    y.data<float>()[at] = slope * x.data<float>()[at];
  }
  return Element::tuple({x, y});
}

}  // namespace systole::testing
