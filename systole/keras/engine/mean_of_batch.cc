#include "systole/keras/engine/mean_of_batch.h"

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"

namespace systole::keras {

Output elements_of_mean(const Output& mean, int64_t batch) {
  if (mean.shape().rank() > 0) return {};
  const Node& node = *mean.node();
  // What changes no value, and casts, which are the same before the mean.
  if (node.op_name() == "Identity") return elements_of_mean(node.input(0), batch);
  if (node.op_name() == "Cast") {
    const Output elements = elements_of_mean(node.input(0), batch);
    return elements.valid() ? cast(elements, mean.dtype()) : Output();
  }
  if (node.op_name() != "Mean" || node.input(0).shape().rank() == 0) return {};
  const Output elements = node.input(0);
  const int64_t rows = elements.shape()[0];
  return rows == batch || rows < 0 || batch < 0 ? elements : Output();
}

}  // namespace systole::keras
