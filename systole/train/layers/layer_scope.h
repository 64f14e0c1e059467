// Helpers of all layers: the variable scope, variables with regularisation, argument checks.
#pragma once

#include <string>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/core/where_scope.h"
#include "systole/train/layers.h"

namespace systole::layers {

// The variable scope and source line of a layer, while it is built.
class LayerScope {
 public:
  LayerScope(const Input& inputs, const std::string& name, std::string_view default_name,
             Reuse reuse = Reuse::inherit)
      : where_(inputs.where()),
        scope_(name, {.default_name = std::string(default_name), .reuse = reuse}) {}

 private:
  WhereScope where_;
  VariableScope scope_;
};

struct WeightOptions {
  DType dtype = DType::f32;
  Initializer initializer = nullptr;
  Regularizer regularizer = nullptr;
  bool trainable = true;
};
// Creates or reuses a variable of the scope. Adds its regularisation loss when it creates it.
Variable weight(std::string_view name, const Shape& shape, const WeightOptions& options);

// Adds the bias (of size `units`, along the channels of `format`) and applies the activation, as
// the layer's options say.
template <class Options>
Output add_bias_and_activate(Output y, int64_t units, const Options& options,
                             const std::string& format = "NHWC") {
  if (options.use_bias) {
    const Variable bias = weight("bias", {units},
                                 {.dtype = y.dtype(),
                                  .initializer = options.bias_initializer,
                                  .regularizer = options.bias_regularizer,
                                  .trainable = options.trainable});
    y = y.shape().rank() == 1 ? add(y, bias) : bias_add(y, bias, {.data_format = format});
  }
  return options.activation(y);
}

// Returns `inputs` as a floating tensor of `rank` (-1: any).
// Errors: INVALID_ARGUMENT names the layer and the caller's line.
Output resolve_inputs(std::string_view layer, const Input& inputs, int rank = -1);

// "NHWC" for channels_last, "NCHW" for channels_first.
std::string op_data_format(std::string_view layer, const std::string& data_format);
int channels_axis(const std::string& op_format);

// Returns the size of an axis. Errors: INVALID_ARGUMENT when it is unknown.
int64_t known_size(std::string_view layer, const Output& inputs, int axis);

// Errors: INVALID_ARGUMENT unless value is from 1 to 2^31 - 1.
void check_positive(std::string_view layer, std::string_view what, int64_t value);
void check_positive(std::string_view layer, std::string_view what, const Extent& value);

}  // namespace systole::layers
