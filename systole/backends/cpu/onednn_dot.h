// dot_general through oneDNN's matmul.
#pragma once

#include <memory>

#include "systole/backends/cpu/onednn_primitive.h"
#include "systole/hlo/attrs.h"

namespace systole::cpu {

// A matmul primitive for this product on row-major operands; execute({lhs, rhs, result}). Null when oneDNN cannot do it
// on the operands as they lie: dtypes other than f32, bf16 (to bf16 or f32), s8 and u8 times s8 (to s32); batch,
// free or contracting axes that do not lie together; a matrix without an axis of stride 1.
std::unique_ptr<OnednnPrimitive> make_onednn_dot(const hlo::DotAttrs& attrs, const TensorType& lhs,
                                                 const TensorType& rhs, const TensorType& result, int threads);

}  // namespace systole::cpu
