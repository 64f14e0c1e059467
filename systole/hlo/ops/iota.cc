#include "systole/base/convert.h"
#include "systole/base/error.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_iota(const InferContext& context) {
  const TensorType& type = context.declared_type();
  const int64_t dimension = context.get<IotaAttrs>().iota_dimension;
  if (dimension < 0 || dimension >= type.shape.rank()) {  // C1
    throw invalid_argument("iota: iota_dimension, got {}, expected in [0, {})", dimension,
                           type.shape.rank());
  }
  if (!is_numeric(type.dtype) || type.dtype == DType::pred) {
    throw invalid_argument(
        "iota: element type, got {}, expected integer, floating-point or complex", type.dtype);
  }
  return {type};
}

std::vector<Tensor> evaluate_iota(const Instruction& instruction, std::span<const Tensor>,
                                  const Evaluator&) {
  const auto axis = static_cast<int>(instruction.attrs<IotaAttrs>().iota_dimension);
  const Shape& shape = instruction.shape();
  const int64_t stride = shape.strides()[axis];
  Tensor result(instruction.type());
  visit_dtype(result.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < result.num_elements(); ++i) {
      result.data<T>()[i] = convert_element<T>(i / stride % shape[axis]);
    }
  });
  return {result};
}

}  // namespace

extern const OpSemantics iota_semantics{
    .infer = infer_iota,
    .evaluate = evaluate_iota,
    .format = AssemblyFormat{"dim = <iota_dimension>", TypeForm::result},
    .example =
        OpExample{
            .results = "tensor<4x$T>",
            .body = R"(%r = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<4x$T>)"},
    .quantized = OpQuantization{.form = QuantizedForm::real},
    .shard = spmd::shard_iota};

}  // namespace systole::hlo::ops
