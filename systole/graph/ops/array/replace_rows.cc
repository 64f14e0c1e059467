#include "systole/graph/lowering/rows.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole::ops {

extern const OpDef op_replace_rows{
    .name = "ReplaceRows",
    .doc = "A tensor with other rows of these numbers, which occur once or are -1.",
    .inputs = "x: T, indices: Tindices, rows: T",
    .outputs = "output: T",
    .infer =
        [](const InferContext& c) {
          if (!is_integer(c.input(1).dtype)) {
            throw invalid_argument("indices, got {}, expected integers", c.input(1));
          }
          return std::vector{c.input(0)};
        },
    .lower =
        [](LowerContext& c) {
          return std::vector{replace_rows(c.b, c.input(0), c.input(1), c.input(2))};
        },
    .tensorflow = TensorFlowOp::none,
};

}  // namespace systole::ops
