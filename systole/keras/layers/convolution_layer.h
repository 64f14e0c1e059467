// Base of the convolution layers. Not for users.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "systole/graph/api/nn_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/convolution.h"
#include "systole/keras/layers/spatial.h"

namespace systole::keras::layers {

// (k - 1) d + 1 for each axis.
std::vector<int64_t> effective_window(const Sizes& kernel_size, const Sizes& dilation_rate);
// Checks what the arguments of all convolutions have in common. Errors: INVALID_ARGUMENT.
void refuse_strides_with_dilation(std::string_view layer, const Sizes& strides,
                                  const Sizes& dilation_rate);

// x with zeros before its first step, as many as a "causal" convolution looks back.
Output padded_causally(const SpatialAxes& axes, const Output& x, int64_t window);

// How a kernel moves over its input; sizes along the spatial axes.
struct ConvolutionSteps {
  Sizes strides;
  std::string padding;  // "valid" or "same"
  Sizes dilations;
};
// `kernel` is [kernel sizes.., in, out].
Output convolved(const SpatialAxes& axes, const Output& x, const Output& kernel,
                 const ConvolutionSteps& steps);
// `kernel` is [kernel sizes.., in, multiplier], of at most two axes.
Output convolved_depthwise(const SpatialAxes& axes, const Output& x, const Output& kernel,
                           const ConvolutionSteps& steps);

// `Options` has the arguments of ConvOptions but filters and those of the kernel.
template <class Derived, class Options>
class ConvolutionLayer : public LayerOf<Derived, Options> {
 public:
  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) final {
    Output y = convolve(context, inputs.at(0));
    if (bias_) {
      y = bias_add(y, context.value(bias_),
                   {.data_format = axes_.channels_first ? "NCHW" : "NHWC"});
    }
    return {this->options_.activation(y)};
  }

 protected:
  ConvolutionLayer(int rank, Options options)
      : LayerOf<Derived, Options>(normalized(rank, std::move(options))),
        axes_(spatial_axes(rank, this->options_.data_format)) {
    this->input_specs_ = {{.ndim = axes_.ndim()}};
    this->set_activity_regularizer(this->options_.activity_regularizer.function());
  }

  // The result without bias and activation.
  virtual Output convolve(CallContext& context, const Output& x) = 0;

  // The number of the input's channels, which later inputs must have too.
  int64_t take_channels(const std::vector<Shape>& input_shapes) {
    const int64_t channels = known_channels(*this, axes_, input_shapes.at(0));
    this->input_specs_ = {
        {.ndim = axes_.ndim(), .axes = {{axes_.channels_first ? 1 : -1, channels}}}};
    return channels;
  }
  // [kernel sizes.., first, second]
  Shape kernel_shape(int64_t first, int64_t second) const {
    const std::vector<int64_t>& sizes = this->options_.kernel_size.values;
    Dims dims(sizes.begin(), sizes.end());
    dims.push_back(first);
    dims.push_back(second);
    return Shape(std::move(dims));
  }
  WeightPtr add_kernel(std::string name, Shape shape, const InitializerSpec& initializer,
                       const RegularizerSpec& regularizer, const ConstraintSpec& constraint) {
    return this->add_weight(std::move(name), std::move(shape),
                            {.initializer = initializer.for_weight(),
                             .regularizer = regularizer.function(),
                             .constraint = constraint.function()});
  }
  void add_bias(int64_t channels) {
    const Options& o = this->options_;
    if (!o.use_bias) return;
    bias_ =
        add_kernel("bias", {channels}, o.bias_initializer, o.bias_regularizer, o.bias_constraint);
  }
  // x as the op takes it, and how the op moves over it: a causal convolution is a valid one over
  // more steps. Errors: INVALID_ARGUMENT for a kernel that is larger than x.
  std::pair<Output, ConvolutionSteps> prepared(const Output& x) const {
    const Options& o = this->options_;
    ConvolutionSteps steps{o.strides, o.padding, o.dilation_rate};
    const std::vector<int64_t> window = effective_window(o.kernel_size, o.dilation_rate);
    if (o.padding == "causal") {
      steps.padding = "valid";
      return {padded_causally(axes_, x, window[0]), steps};
    }
    if (o.padding == "valid") {
      check_window_fits(*this, "kernel_size with dilation_rate", axes_, x.shape(), window);
    }
    return {x, steps};
  }

  const SpatialAxes axes_;

 private:
  static Options normalized(int rank, Options o) {
    constexpr std::string_view kLayer = Derived::kClassName;
    if constexpr (requires { o.filters; }) {
      check_layer_size(kLayer, "filters", o.filters);
    }
    if constexpr (requires { o.depth_multiplier; }) {
      check_layer_size(kLayer, "depth_multiplier", o.depth_multiplier);
    }
    normalize_sizes(kLayer, "kernel_size", o.kernel_size, rank);
    normalize_sizes(kLayer, "strides", o.strides, rank);
    normalize_sizes(kLayer, "dilation_rate", o.dilation_rate, rank);
    normalize_padding(kLayer, o.padding, rank == 1);
    normalize_data_format(kLayer, o.data_format);
    refuse_strides_with_dilation(kLayer, o.strides, o.dilation_rate);
    return o;
  }

  WeightPtr bias_;
};

}  // namespace systole::keras::layers
