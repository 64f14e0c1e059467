// Predictions of Keras models by 8-bit integers.
//
//   const auto int8 = st::keras::quantize_model(model, x_train.slice(0, 512));
//   const st::Tensor predictions = int8.predict(x_test);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "systole/keras/models/model.h"
#include "systole/quantize/quantize.h"
#include "systole/runtime/batched_program.h"

namespace systole::keras {

struct QuantizeModelOptions {
  quantize::Options quantization = {};
  // A backend of the runtime. tpu_v1, the model of TPU v1, and cpu compute equal bits.
  std::string device = "tpu_v1";
  int64_t batch_size = 32;            // of the program; predict() takes any number of examples
  int64_t calibration_batches = 512;  // at most
};

// The weights that the model had when it was quantized. Copies share one program. predict() is
// thread-safe.
class QuantizedModel {
 public:
  // The only output. Errors: INVALID_ARGUMENT if there are several, and for arrays that do not fit.
  Tensor predict(const ArrayList& x) const;
  std::vector<Tensor> predict_all(const ArrayList& x) const;

  // The program in StableHLO's quantized types.
  const hlo::Module& module() const { return *module_; }
  const quantize::Report& report() const { return report_; }

 private:
  friend QuantizedModel quantize_model(const Model&, const ArrayList&, const QuantizeModelOptions&);

  std::shared_ptr<ModelDefinition> model_;
  std::shared_ptr<const hlo::Module> module_;
  std::shared_ptr<const runtime::BatchedProgram> program_;
  quantize::Report report_;
};

// `calibration`: examples as predict() takes them, at least one batch; a few hundred are enough.
// Errors: those of Model::inference_module(), quantize::quantize() and the device's compiler.
QuantizedModel quantize_model(const Model& model, const ArrayList& calibration,
                              const QuantizeModelOptions& options = {});

}  // namespace systole::keras
