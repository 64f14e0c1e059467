#include "systole/keras/quantized/quantized_model.h"

#include "systole/base/error.h"
#include "systole/keras/training/arrays.h"
#include "systole/runtime/registry.h"

namespace systole::keras {

std::vector<Tensor> QuantizedModel::predict_all(const ArrayList& x) const {
  return program_->run(prepare_arrays(*model_, {x.all(), {}, {}}, nullptr).x);
}

Tensor QuantizedModel::predict(const ArrayList& x) const {
  std::vector<Tensor> outputs = predict_all(x);
  if (outputs.size() != 1) {
    throw invalid_argument("predict: the model has {} outputs, expected one: use predict_all()",
                           outputs.size());
  }
  return std::move(outputs[0]);
}

QuantizedModel quantize_model(const Model& model, const ArrayList& calibration,
                              const QuantizeModelOptions& options) {
  QuantizedModel result;
  result.model_ = model.model();
  const Arrays examples = prepare_arrays(*result.model_, {calibration.all(), {}, {}}, nullptr);
  quantize::Quantized quantized = quantize::quantize(
      *model.inference_module(options.batch_size),
      quantize::batches_of(examples.x, options.batch_size, options.calibration_batches),
      options.quantization);
  result.module_ = std::move(quantized.module);
  result.report_ = std::move(quantized.report);
  result.program_ = std::make_shared<const runtime::BatchedProgram>(runtime::client(options.device),
                                                                    *result.module_);
  return result;
}

}  // namespace systole::keras
