#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/op_def.h"

namespace systole {
namespace {

Tensor shaped(const Tensor& value, const Shape& shape) {
  if (!shape.is_static()) {
    throw invalid_argument("constant: shape, got {}, expected known sizes", shape);
  }
  if (value.num_elements() == 1 && shape.num_elements() != 1 && is_numeric(value.dtype())) {
    Tensor result(value.dtype(), shape);
    const auto size = static_cast<size_t>(value.byte_size());
    for (int64_t i = 0; i < result.num_elements(); ++i) {
      std::memcpy(static_cast<std::byte*>(result.raw()) + static_cast<size_t>(i) * size,
                  value.raw(), size);
    }
    return result;
  }
  if (value.num_elements() != shape.num_elements()) {
    throw invalid_argument("constant: value, got {}, expected {} elements for shape {}",
                           value.type(), shape.num_elements(), shape);
  }
  return value.reshape(shape);
}

std::vector<TensorType> infer_constant(const InferContext& c) {
  const auto& value = c.attr<Tensor>("value");
  if (!value.valid()) throw invalid_argument("value, got none, expected a tensor");
  return {value.type()};
}

std::vector<hlo::Value> lower_constant(LowerContext& c) {
  return {c.b.constant(c.attr<Tensor>("value"))};
}

std::optional<PartialValue> constant_elements(const Output& output) {
  const auto& value = output.node()->attr<Tensor>("value");
  if (!is_integer(value.dtype()) || value.rank() > 1 || value.num_elements() > kMaxKnownElements) {
    return std::nullopt;
  }
  PartialValue result{value.dtype(), value.shape(), {}};
  const Tensor wide = value.cast(DType::s64);
  for (const int64_t element : wide.data<int64_t>()) result.elements.emplace_back(element);
  return result;
}

}  // namespace

Output constant(const Input& value, const ConstantOptions& options) {
  if (value.is_output()) {
    throw invalid_argument("constant: value, got a symbolic tensor, expected a host value");
  }
  Tensor tensor = value.host_value(options.dtype);
  if (options.dtype != DType::invalid && tensor.dtype() != options.dtype) {
    tensor = tensor.cast(options.dtype);
  }
  if (options.shape) tensor = shaped(tensor, *options.shape);
  const DType dtype = tensor.dtype();
  return Graph::current()
      .add_node("Const", {}, {{"dtype", dtype}, {"value", std::move(tensor)}}, value.where(),
                options.name)
      ->output();
}

namespace ops {
extern const OpDef op_constant{
    .name = "Const",
    .doc = "A host value as a tensor.",
    .outputs = "output: dtype",
    .attrs = "value: tensor, dtype: type",
    .infer = infer_constant,
    .lower = lower_constant,
    .constant_rule = constant_elements,
    .traits = {.costs_no_memory = true, .static_source = true},
};
}  // namespace ops
}  // namespace systole
