#include "systole/keras/layers/masked_scores.h"

#include "systole/base/error.h"
#include "systole/graph/api/math_ops.h"

namespace systole::keras::layers {

// A choice, not a sum as in Keras: scores are small beside 1e9, where f32 has steps of 64.
Output masked_scores(const Output& scores, const Output& seen) {
  if (!seen.valid()) return scores;
  constexpr double kMinOfHalf = -65504;
  return where_v2(seen, scores, scores.dtype() == DType::f16 ? kMinOfHalf : -1e9);
}

Output both(const Output& a, const Output& b) {
  if (!a.valid()) return b;
  return b.valid() ? logical_and(a, b) : a;
}

void check_dropout(std::string_view layer, double rate) {
  if (rate >= 0 && rate < 1) return;
  throw invalid_argument("{}: dropout, got {}, expected a number in [0, 1)", layer, rate);
}

}  // namespace systole::keras::layers
