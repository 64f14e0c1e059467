#include <utility>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/functions/array_functions.h"
#include "systole/graph/functions/functional_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/convolution_layer.h"
#include "systole/keras/layers/convolutional_recurrent.h"
#include "systole/keras/layers/lstm_cell.h"
#include "systole/keras/layers/recurrent_dropout.h"
#include "systole/keras/layers/spatial.h"

namespace systole::keras::layers {
namespace {

constexpr int kGates = 4;

ConvLSTM2DOptions normalized(ConvLSTM2DOptions o) {
  constexpr std::string_view kLayer = "ConvLSTM2D";
  check_layer_size(kLayer, "filters", o.filters);
  normalize_sizes(kLayer, "kernel_size", o.kernel_size, 2);
  normalize_sizes(kLayer, "strides", o.strides, 2);
  normalize_sizes(kLayer, "dilation_rate", o.dilation_rate, 2);
  normalize_padding(kLayer, o.padding);
  normalize_data_format(kLayer, o.data_format);
  refuse_strides_with_dilation(kLayer, o.strides, o.dilation_rate);
  const auto check_rate = [&](const char* argument, double rate) {
    if (rate >= 0 && rate < 1) return;
    throw invalid_argument("{}: {}, got {}, expected a number in [0, 1)", kLayer, argument, rate);
  };
  check_rate("dropout", o.dropout);
  check_rate("recurrent_dropout", o.recurrent_dropout);
  return o;
}

class ConvLstm2DLayer : public LayerOf<ConvLstm2DLayer, ConvLSTM2DOptions> {
 public:
  static constexpr std::string_view kClassName = "ConvLSTM2D";
  static std::vector<Field<ConvLSTM2DOptions>> fields() {
    using O = ConvLSTM2DOptions;
    return {required("filters", &O::filters),
            required("kernel_size", &O::kernel_size),
            field("strides", &O::strides),
            field("padding", &O::padding),
            field("data_format", &O::data_format),
            field("dilation_rate", &O::dilation_rate),
            field("activation", &O::activation),
            field("recurrent_activation", &O::recurrent_activation),
            field("use_bias", &O::use_bias),
            field("kernel_initializer", &O::kernel_initializer),
            field("recurrent_initializer", &O::recurrent_initializer),
            field("bias_initializer", &O::bias_initializer),
            field("unit_forget_bias", &O::unit_forget_bias),
            field("kernel_regularizer", &O::kernel_regularizer),
            field("recurrent_regularizer", &O::recurrent_regularizer),
            field("bias_regularizer", &O::bias_regularizer),
            field("activity_regularizer", &O::activity_regularizer),
            field("kernel_constraint", &O::kernel_constraint),
            field("recurrent_constraint", &O::recurrent_constraint),
            field("bias_constraint", &O::bias_constraint),
            field("return_sequences", &O::return_sequences),
            field("go_backwards", &O::go_backwards),
            field("dropout", &O::dropout),
            field("recurrent_dropout", &O::recurrent_dropout)};
  }

  explicit ConvLstm2DLayer(ConvLSTM2DOptions options)
      : LayerOf(normalized(std::move(options))), axes_(spatial_axes(2, options_.data_format)) {
    input_specs_ = {{.ndim = 5}};
    set_activity_regularizer(options_.activity_regularizer.function());
  }

  void build(const std::vector<Shape>& input_shapes) override;
  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override;

 private:
  WeightPtr add_kernel(const char* name, int64_t in, const InitializerSpec& initializer,
                       const RegularizerSpec& regularizer, const ConstraintSpec& constraint) {
    const std::vector<int64_t>& sizes = options_.kernel_size.values;
    return add_weight(name, {sizes[0], sizes[1], in, kGates * options_.filters},
                      {.initializer = initializer.for_weight(),
                       .regularizer = regularizer.function(),
                       .constraint = constraint.function()});
  }
  // x [n, sizes.., in] -> [n, sizes'.., gates * filters]; gate g sees x * masks[g], if there are
  // any.
  Output gates_of(const Output& x, const Output& kernel, const ConvolutionSteps& steps,
                  const std::vector<Output>& masks) const;
  // The inputs' share of the gates, for all steps [time, batch, ...] at once.
  Output project(CallContext& context, const Output& steps) const;
  // Masks for images of this shape, whose batch may be unknown; none where nothing is dropped.
  static std::vector<Output> masks_for(CallContext& context, double rate, const Output& batch,
                                       const Shape& image);

  const SpatialAxes axes_;
  WeightPtr kernel_;
  WeightPtr recurrent_kernel_;
  WeightPtr bias_;
};

void ConvLstm2DLayer::build(const std::vector<Shape>& input_shapes) {
  const Shape& shape = input_shapes.at(0);
  for (int axis = 2; axis < shape.rank(); ++axis) {
    if (shape[axis] >= 0) continue;
    throw invalid_argument("{}: inputs, got {}, expected known rows, columns and channels", name(),
                           shape);
  }
  const ConvLSTM2DOptions& o = options_;
  kernel_ = add_kernel("kernel", shape[axes_.channels() + 1], o.kernel_initializer,
                       o.kernel_regularizer, o.kernel_constraint);
  recurrent_kernel_ = add_kernel("recurrent_kernel", o.filters, o.recurrent_initializer,
                                 o.recurrent_regularizer, o.recurrent_constraint);
  input_specs_ = {
      {.ndim = 5, .axes = {{axes_.channels_first ? 2 : -1, shape[axes_.channels() + 1]}}}};
  if (!o.use_bias) return;
  const Initializer others = o.bias_initializer.for_weight();
  bias_ = add_weight("bias", {kGates * o.filters},
                     {.initializer = o.unit_forget_bias ? with_ones(others, kGates * o.filters,
                                                                    o.filters, o.filters)
                                                        : others,
                      .regularizer = o.bias_regularizer.function(),
                      .constraint = o.bias_constraint.function()});
}

Output ConvLstm2DLayer::gates_of(const Output& x, const Output& kernel,
                                 const ConvolutionSteps& steps,
                                 const std::vector<Output>& masks) const {
  if (masks.empty()) return convolved(axes_, x, kernel, steps);
  const std::vector<Output> kernels = split(kernel, kGates, {.axis = 3});
  std::vector<Output> gates;
  for (size_t g = 0; g < kernels.size(); ++g) {
    gates.push_back(convolved(axes_, x * masks[g], kernels[g], steps));
  }
  return concat(gates, axes_.channels());
}

std::vector<Output> ConvLstm2DLayer::masks_for(CallContext& context, double rate,
                                               const Output& batch, const Shape& image) {
  if (rate == 0 || !context.training()) return {};
  const int64_t elements = image[1] * image[2] * image[3];
  std::vector<Output> masks = dropout_masks(batch, elements, rate, kGates);
  for (Output& mask : masks) mask = reshape(mask, {-1, image[1], image[2], image[3]});
  return masks;
}

Output ConvLstm2DLayer::project(CallContext& context, const Output& steps) const {
  const Shape& shape = steps.shape();
  const Output sizes = systole::shape(steps);
  const Output time = gather(sizes, 0);
  const Output batch = gather(sizes, 1);
  std::vector<Output> masks =
      masks_for(context, options_.dropout, batch, {-1, shape[2], shape[3], shape[4]});
  const Output images = reshape(steps, {-1, shape[2], shape[3], shape[4]});
  // The images of all steps stand in one batch: each step's see the same masks.
  for (Output& mask : masks) mask = tile(mask, stack({time, 1, 1, 1}));
  Output gates = gates_of(images, context.value(kernel_),
                          {options_.strides, options_.padding, options_.dilation_rate}, masks);
  if (bias_) {
    gates = bias_add(gates, context.value(bias_),
                     {.data_format = axes_.channels_first ? "NCHW" : "NHWC"});
  }
  const auto size = [&](int axis) {
    return Output(constant(static_cast<int32_t>(gates.shape()[axis])));
  };
  return reshape(gates, stack({time, batch, size(1), size(2), size(3)}));
}

std::vector<Output> ConvLstm2DLayer::call(CallContext& context, const std::vector<Output>& inputs) {
  const Output& x = inputs.at(0);
  if (options_.padding == "valid") {
    const Shape image{x.shape()[0], x.shape()[2], x.shape()[3], x.shape()[4]};
    check_window_fits(*this, "kernel_size with dilation_rate", axes_, image,
                      effective_window(options_.kernel_size, options_.dilation_rate));
  }
  Output elements = project(context, transpose(x, {.perm = {1, 0, 2, 3, 4}}));
  if (options_.go_backwards) elements = reverse(elements, 0);
  Dims state(elements.shape().begin() + 1, elements.shape().end());
  state.at(static_cast<size_t>(axes_.channels())) = options_.filters;
  const Output batch = gather(shape(x), 0);
  const auto size = [&](size_t axis) {
    return Output(constant(static_cast<int32_t>(state[axis])));
  };
  const Output zero = zeros(stack({batch, size(1), size(2), size(3)}), x.dtype());
  const std::vector<Output> masks =
      masks_for(context, options_.recurrent_dropout, batch, Shape(state));
  const Output kernel = context.value(recurrent_kernel_);
  const ConvolutionSteps same{Sizes{1, 1}, "same", Sizes{1, 1}};
  const Scan scanned = scan(
      [&](const std::vector<Output>& before, const std::vector<Output>& now) {
        const Output z = now[0] + gates_of(before[0], kernel, same, masks);
        const std::vector<Output> gate = split(z, kGates, {.axis = axes_.channels()});
        const Output i = options_.recurrent_activation(gate[0]);
        const Output f = options_.recurrent_activation(gate[1]);
        const Output c = f * before[1] + i * options_.activation(gate[2]);
        const Output h = options_.recurrent_activation(gate[3]) * options_.activation(c);
        return std::vector<Output>{h, c};
      },
      InputList({elements}), InputList({zero, zero}));
  if (!options_.return_sequences) return {scanned.last[0]};
  return {transpose(scanned.stacked[0], {.perm = {1, 0, 2, 3, 4}})};
}

}  // namespace

LayerClass conv_lstm2_d_class() {
  LayerClass made = layer_class<ConvLstm2DLayer, ConvLSTM2DOptions>();
  // Configurations of Keras have these arguments; they are taken where they are off.
  made.from_config = [make = made.from_config](const Json& given) {
    Json config = given;
    for (const char* unused : {"stateful", "return_state", "unroll"}) {
      const auto it = config.find(unused);
      if (it != config.end() && (it->is_null() || *it == false)) config.erase(it);
    }
    return make(config);
  };
  return made;
}

ConvLSTM2D::ConvLSTM2D(int64_t filters, Sizes kernel_size, ConvLSTM2DOptions options, Where where)
    : Layer([&] {
        options.filters = filters;
        options.kernel_size = std::move(kernel_size);
        return make_layer<ConvLstm2DLayer>(std::move(options), where);
      }()) {}

}  // namespace systole::keras::layers
