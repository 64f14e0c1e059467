// Functions of tf.nn that are made of the ops of nn_ops.h. (tensorflow/python/ops/nn_impl.py)
#pragma once

#include <string>

#include "systole/graph/api/nn_ops.h"
#include "systole/graph/api/shape_input.h"

namespace systole {

struct Conv2DTransposeOptions {
  // One number, {height, width}, or all four as TensorFlow writes them ({1, 2, 2, 1}).
  std::vector<int64_t> strides = {1};
  Padding padding = Padding::same;
  std::vector<int64_t> dilations = {1};
  std::string data_format = "NHWC";  // or "NCHW"
  std::string name = {};
};
// The gradient of conv2d by its input, as a function of its own: value [batch, height, width, in]
// (NHWC), filter [height, width, out, in], result of `output_shape`, whose batch may be that of
// shape(value). Errors: an output_shape that conv2d with these options would not take to value's
// shape. (tf.nn.conv2d_transpose)
Output conv2d_transpose(const Input& value, const Input& filter, const ShapeInput& output_shape,
                        const Conv2DTransposeOptions& options = {});

struct Conv3DTransposeOptions {
  // One number, {depth, height, width}, or all five ({1, 2, 2, 2, 1}).
  std::vector<int64_t> strides = {1};
  Padding padding = Padding::same;
  std::vector<int64_t> dilations = {1};
  std::string data_format = "NDHWC";  // or "NCDHW"
  std::string name = {};
};
// The same of conv3d: filter [depth, height, width, out, in]. (tf.nn.conv3d_transpose)
Output conv3d_transpose(const Input& value, const Input& filter, const ShapeInput& output_shape,
                        const Conv3DTransposeOptions& options = {});

struct Conv1DOptions {
  Padding padding = Padding::valid;
  int64_t dilation = 1;
  std::string data_format = "NWC";  // or "NCW"
  std::string name = {};
};
// value: [batch, width, in] (NWC); filters: [width, in, out]; result: [batch, width', out], sizes
// as conv2d's. (tf.nn.conv1d)
Output conv1d(const Input& value, const Input& filters, int64_t stride,
              const Conv1DOptions& options = {});

// depthwise_conv2d, followed by a conv2d over all its channels: pointwise_filter [1, 1, in *
// multiplier, out]. (tf.nn.separable_conv2d)
Output separable_conv2d(const Input& input, const Input& depthwise_filter,
                        const Input& pointwise_filter, const Conv2DOptions& options = {});
// conv2d with filters whose elements are `rate` apart. (tf.nn.atrous_conv2d)
Output atrous_conv2d(const Input& value, const Input& filters, int64_t rate, Padding padding,
                     const NameOptions& options = {});

// relu(x * weights + biases). (tf.nn.relu_layer)
Output relu_layer(const Input& x, const Input& weights, const Input& biases,
                  const NameOptions& options = {});

// log(sigmoid(x)), never overflows. (tf.log_sigmoid)
Output log_sigmoid(const Input& x, const NameOptions& options = {});
// x * sigmoid(x). (tf.nn.swish)
Output swish(const Input& features, const NameOptions& options = {});
// relu of x and of -x, side by side along the last axis. (tf.nn.crelu)
Output crelu(const Input& features, const NameOptions& options = {});

struct WeightedCrossEntropyOptions {
  Input targets;
  Input logits;
  Input pos_weight;  // of the positive targets
  std::string name = {};
};
// targets, logits: one shape; elementwise
// -(pos_weight * z * log(sigmoid(x)) + (1 - z) * log(1 - sigmoid(x))).
// (tf.nn.weighted_cross_entropy_with_logits)
Output weighted_cross_entropy_with_logits(const WeightedCrossEntropyOptions& options);

struct LocalResponseNormalizationOptions {
  int64_t depth_radius = 5;
  double bias = 1;
  double alpha = 1;
  double beta = 0.5;
  std::string name = {};
};
// input: [.., channels]; each divided by (bias + alpha * the sum of squares over the channels at
// most depth_radius away) ^ beta. (tf.nn.local_response_normalization, tf.nn.lrn)
Output local_response_normalization(const Input& input,
                                    const LocalResponseNormalizationOptions& options = {});

// predictions: [batch, classes]; targets: integers [batch]. Whether each target is among the k
// classes of the highest predictions; ties with the target count for it, and any prediction of the
// row that is not finite makes it false. (tf.nn.in_top_k)
Output in_top_k(const Input& predictions, const Input& targets, int64_t k,
                const NameOptions& options = {});

// The part of the elements that are 0, as f32. (tf.nn.zero_fraction)
Output zero_fraction(const Input& value, const NameOptions& options = {});

}  // namespace systole
