// Dtypes, shapes and tensors as TensorFlow's messages. For sources that include generated headers;
// see io/proto.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "systole/base/tensor.h"

namespace tensorflow {
class TensorProto;
class TensorShapeProto;
}  // namespace tensorflow

namespace systole {

// Numbers of tensorflow.DataType. A reference type (DT_FLOAT_REF) gives the dtype it refers to;
// `invalid` for what we do not have (DT_VARIANT, DT_QINT8).
DType dtype_from_message(int data_type);
// Errors: INVALID_ARGUMENT for a dtype that TensorFlow does not have (token).
int dtype_to_message(DType dtype);
// "DT_FLOAT"; "DT_77" for an unknown number.
std::string data_type_name(int data_type);

// Nullopt when not even the rank is known. Errors: DATA_LOSS, which begins with `what`, for a
// size below -1.
std::optional<Shape> shape_from_message(std::string_view what,
                                        const tensorflow::TensorShapeProto& message);
void shape_to_message(const Shape& shape, tensorflow::TensorShapeProto& message);

// Elements missing at the end repeat the last one, as TensorFlow has it; none at all are zeros.
// Errors, which begin with `what`: DATA_LOSS for a shape or a number of elements that does not fit,
// before anything of its size is allocated; UNIMPLEMENTED for a dtype that we do not have.
Tensor tensor_from_message(std::string_view what, const tensorflow::TensorProto& message);
// Numbers as bytes; a tensor whose elements are all equal is one element.
void tensor_to_message(const Tensor& tensor, tensorflow::TensorProto& message);

}  // namespace systole
