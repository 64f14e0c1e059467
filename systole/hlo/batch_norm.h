// What the three batch_norm opcodes share.
#pragma once

#include <initializer_list>
#include <string_view>

#include "systole/hlo/checks.h"

namespace systole::hlo {

// Operand 0 is floating-point and has the axis feature_index; those that `names` names from operand
// 1 on hold one number for each feature. Returns the type of these.
TensorType check_batch_norm(const InferContext& context,
                            std::initializer_list<std::string_view> names);

}  // namespace systole::hlo
