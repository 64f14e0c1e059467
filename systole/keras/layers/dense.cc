#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/functions/array_functions.h"
#include "systole/graph/functions/math_functions.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/core.h"

namespace systole::keras::layers {
namespace {

class DenseLayer : public LayerOf<DenseLayer, DenseOptions> {
 public:
  static constexpr std::string_view kClassName = "Dense";
  static std::vector<Field<DenseOptions>> fields() {
    using O = DenseOptions;
    return {required("units", &O::units),
            field("activation", &O::activation),
            field("use_bias", &O::use_bias),
            field("kernel_initializer", &O::kernel_initializer),
            field("bias_initializer", &O::bias_initializer),
            field("kernel_regularizer", &O::kernel_regularizer),
            field("bias_regularizer", &O::bias_regularizer),
            field("activity_regularizer", &O::activity_regularizer),
            field("kernel_constraint", &O::kernel_constraint),
            field("bias_constraint", &O::bias_constraint)};
  }

  explicit DenseLayer(DenseOptions options) : LayerOf(std::move(options)) {
    check_layer_size(kClassName, "units", options_.units);
    input_specs_ = {{.min_ndim = 2}};
    set_activity_regularizer(options_.activity_regularizer.function());
  }

  MaskSupport mask_support() const override { return MaskSupport::pass; }

  void build(const std::vector<Shape>& input_shapes) override {
    const Shape& shape = input_shapes.at(0);
    const int64_t depth = shape[shape.rank() - 1];
    if (depth < 0) {
      throw invalid_argument(
          "The last dimension of the inputs to `Dense` should be defined. Found `None`.");
    }
    input_specs_ = {{.min_ndim = 2, .axes = {{-1, depth}}}};
    kernel_ = add_weight("kernel", {depth, options_.units},
                         {.initializer = options_.kernel_initializer.for_weight(),
                          .regularizer = options_.kernel_regularizer.function(),
                          .constraint = options_.kernel_constraint.function()});
    if (options_.use_bias) {
      bias_ = add_weight("bias", {options_.units},
                         {.initializer = options_.bias_initializer.for_weight(),
                          .regularizer = options_.bias_regularizer.function(),
                          .constraint = options_.bias_constraint.function()});
    }
  }

  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const Output& x = inputs.at(0);
    if (!is_floating(x.dtype())) {
      throw invalid_argument(
          "Layer {}: Unable to build `Dense` layer with an input of non-floating point dtype {}, "
          "expected f32",
          name(), dtype_info(x.dtype()).name);
    }
    const int rank = x.shape().rank();
    const Output kernel = context.value(kernel_);
    Output y = rank == 2 ? matmul(x, kernel) : tensordot(x, kernel, {{rank - 1}, {0}});
    if (bias_) y = bias_add(y, context.value(bias_));
    return {options_.activation(y)};
  }

 private:
  WeightPtr kernel_;
  WeightPtr bias_;
};

DenseOptions dense_options(int64_t units, DenseOptions options) {
  options.units = units;
  if (options.input_dim) options.input_shape = Shape{*options.input_dim};
  return options;
}

}  // namespace

LayerClass dense_class() { return layer_class<DenseLayer, DenseOptions>(); }

Dense::Dense(int64_t units, DenseOptions options, Where where)
    : Layer(make_layer<DenseLayer>(dense_options(units, std::move(options)), where)) {}

Dense::Dense(int64_t units, const char* activation, Where where)
    : Dense(units, DenseOptions{.activation = activation}, where) {}

Dense::Dense(int64_t units, const char* activation, DenseOptions options, Where where)
    : Dense(
          units,
          [&] {
            options.activation = activation;
            return std::move(options);
          }(),
          where) {}

}  // namespace systole::keras::layers
