// A gradient as optimizers use it: a tensor, or the rows of a table that a batch has looked up.
#pragma once

#include <optional>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/gradients/indexed_slices.h"

namespace systole::keras {

// All tensors of the parameter's shape have the rows. What a rule does to them where the gradient
// is not 0 is then
//   put(x, f(of(x), values())),
// and no tensor of the parameter's shape is made for the gradient. A lazy rule leaves the other
// rows of parameters and slots as they are: see unless_lazy().
class GradientRows {
 public:
  explicit GradientRows(const Output& gradient, bool lazy = false)
      : values_(gradient), lazy_(lazy) {
    const auto slices = indexed_slices(gradient);
    if (!slices) return;
    const IndexedSlices rows = sum_duplicates(*slices);
    values_ = rows.values;
    indices_ = rows.indices;
  }

  // The gradient of these rows.
  const Output& values() const { return values_; }
  // The rows of x; x itself where the gradient is a tensor.
  Output of(const Output& x) const { return indices_.valid() ? gather(x, indices_) : x; }
  // x with other rows.
  Output put(const Output& x, const Output& rows) const {
    return indices_.valid() ? replace_rows(x, indices_, rows) : rows;
  }

  // What becomes of x where there is no gradient: `decayed`, or x in a lazy rule.
  const Output& unless_lazy(const Output& decayed, const Output& x) const {
    return lazy() ? x : decayed;
  }
  // Whether rows without a gradient stay as they are.
  bool lazy() const { return lazy_ && indices_.valid(); }

 private:
  Output values_;
  Output indices_;
  bool lazy_ = false;
};

}  // namespace systole::keras
