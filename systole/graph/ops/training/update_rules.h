// Update rules that have an op for all rows and one for some (see training_common.h).
#pragma once

#include "systole/graph/op_def.h"

namespace systole {

std::vector<TensorType> infer_apply_momentum(const InferContext& c);
std::vector<hlo::Value> lower_apply_momentum(LowerContext& c);
std::vector<TensorType> infer_apply_adagrad(const InferContext& c);
std::vector<hlo::Value> lower_apply_adagrad(LowerContext& c);
std::vector<TensorType> infer_apply_adadelta(const InferContext& c);
std::vector<hlo::Value> lower_apply_adadelta(LowerContext& c);
std::vector<TensorType> infer_apply_ftrl(const InferContext& c);
std::vector<hlo::Value> lower_apply_ftrl(LowerContext& c);

}  // namespace systole
