#include "systole/graph/core/op_def.h"

namespace systole::ops {

extern const OpDef op_xla_optimization_barrier{
    .name = "XlaOptimizationBarrier",
    .doc =
        "Its inputs, each there when all are: what reads them is not merged with, or computed "
        "before, what reads the inputs.",
    .inputs = "input: T",
    .outputs = "output: T",
    .attrs = "T: list(type)",
    .infer =
        [](const InferContext& c) {
          std::vector<TensorType> types;
          for (int i = 0; i < c.num_inputs(); ++i) types.push_back(c.input(i));
          return types;
        },
    .lower =
        [](LowerContext& c) {
          hlo::Instruction* barrier =
              c.b.op(hlo::Opcode::optimization_barrier, {c.inputs.begin(), c.inputs.end()});
          std::vector<hlo::Value> results;
          for (int i = 0; i < c.num_inputs(); ++i) results.push_back(barrier->result(i));
          return results;
        },
    .gradient =
        [](GradientContext& c) {
          return std::vector<Output>(c.output_gradients.begin(), c.output_gradients.end());
        },
};

}  // namespace systole::ops
