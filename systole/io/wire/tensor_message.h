// Conversion of dtypes, shapes and tensors from and to TensorFlow's messages. For sources that
// include generated headers; see io/proto.
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

// Converts numbers of tensorflow.DataType. A reference type (DT_FLOAT_REF) becomes the dtype that
// it refers to. Returns `invalid` for unsupported types (DT_VARIANT, DT_QINT8).
DType dtype_from_message(int data_type);
// Errors: INVALID_ARGUMENT for a dtype that TensorFlow does not have (token).
int dtype_to_message(DType dtype);
// Returns "DT_FLOAT"; "DT_77" for an unknown number.
std::string data_type_name(int data_type);

// Returns nullopt if the rank is unknown. Errors: DATA_LOSS that starts with `what` for a size
// below -1.
std::optional<Shape> shape_from_message(std::string_view what,
                                        const tensorflow::TensorShapeProto& message);
void shape_to_message(const Shape& shape, tensorflow::TensorShapeProto& message);

// Repeats the last element for missing ones, as TensorFlow does; without elements fills with zeros.
// Errors start with `what`: DATA_LOSS for a shape or a number of elements that does not fit, before
// memory is allocated; UNIMPLEMENTED for an unsupported dtype.
Tensor tensor_from_message(std::string_view what, const tensorflow::TensorProto& message);
// Writes numbers as bytes, and a tensor of equal elements as one element.
void tensor_to_message(const Tensor& tensor, tensorflow::TensorProto& message);

}  // namespace systole
