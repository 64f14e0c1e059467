// What the two RMSProp ops share. Source: Tieleman and Hinton, "RMSProp", COURSERA: Neural Networks
// for Machine Learning 6.5, 2012; centered: Graves, arXiv:1308.0850, equations 38 to 45.
#pragma once

#include "systole/graph/op_def.h"

namespace systole {

// Inputs: handles of the variable, of the mean gradient (the centered op alone), of the mean square
// and of the momentum; then learning rate, rho, momentum, epsilon, gradient (and indices, of rows).
std::vector<TensorType> infer_rms_prop(const InferContext& c, bool centered);
// Divides by the root of the mean square, less the square of the mean gradient when `centered`.
std::vector<hlo::Value> lower_rms_prop(LowerContext& c, bool centered);

}  // namespace systole
