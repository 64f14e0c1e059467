// What the ops that read and write image files share.
#pragma once

#include <initializer_list>
#include <vector>

#include "systole/graph/api/image_ops.h"
#include "systole/graph/core/host_op.h"
#include "systole/graph/core/node_builder.h"

namespace systole {

// A string scalar -> [height, width, channels], sizes unknown but for the channels asked for.
// Errors: INVALID_ARGUMENT for other inputs, and for an attribute `channels` not among these.
std::vector<TensorType> infer_decoded(const InferContext& c, DType dtype,
                                      std::initializer_list<int64_t> channels);
// [height, width, channels] of a dtype among these -> a string scalar.
std::vector<TensorType> infer_encoded(const InferContext& c, std::initializer_list<DType> dtypes,
                                      std::initializer_list<int64_t> channels);
Output add_codec(std::string_view op, const Input& input, AttrMap attrs, const std::string& name);

}  // namespace systole
