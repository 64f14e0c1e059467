// TensorFlow's update ops ("ResourceApplyMomentum"), which are rules with one node each: tf.train's
// graphs have them, so that TensorFlow can read them, and graphs of TensorFlow are run by them.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "systole/graph/core/op_def.h"
#include "systole/graph/optimizers/optimizer_def.h"

namespace systole {

// The op of the rule with these arguments, for a gradient of the parameter's shape or for rows of
// one; null where there is none.
const OpDef* find_update_op(const OptimizerDef& def, const OptimizerArguments& arguments,
                            bool of_rows);

// Adds a node of an update op. `input` gives its inputs: the handles "var" and those of slots,
// "grad" and "indices" (each index once; -1 is no row), "lr" and other scalars by their names in
// the rule. Flags of `arguments` become its attributes.
Operation add_update_op(const OpDef& op, const OptimizerArguments& arguments,
                        const std::function<Output(std::string_view name)>& input);

// The functions of these ops. Inference checks that slots have the variable's type, that the
// gradient has it or is rows of it, and that all other inputs are scalars of its dtype. Errors:
// INVALID_ARGUMENT names the input. In the form for rows, those of an index outside are left out.
std::vector<TensorType> infer_update_op(const InferContext& c);
std::vector<hlo::Value> lower_update_op(LowerContext& c);

}  // namespace systole
