#include "systole/graph/lowering/rows.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole::ops {

extern const OpDef op_tensor_scatter_update{
    .name = "TensorScatterUpdate",
    .doc = "A tensor with other rows of these numbers [n, 1], which occur once or are -1.",
    .inputs = "tensor: T, indices: Tindices, updates: T",
    .outputs = "output: T",
    .infer =
        [](const InferContext& c) {
          const TensorType& indices = c.input(1);
          if (!is_integer(indices.dtype) || indices.shape.rank() != 2 || indices.shape[1] != 1) {
            throw invalid_argument("indices, got {}, expected integers [n,1]", indices);
          }
          if (c.input(2).shape.rank() != c.input(0).shape.rank() || c.input(0).shape.rank() == 0) {
            throw invalid_argument("updates, got {}, expected rows of {}", c.input(2), c.input(0));
          }
          return std::vector{c.input(0)};
        },
    .lower =
        [](LowerContext& c) {
          const hlo::Value rows = c.b.reshape(c.input(1), Shape{c.input(1).shape()[0]});
          return std::vector{replace_rows(c.b, c.input(0), rows, c.input(2))};
        },
};

}  // namespace systole::ops
