#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/testing/nn_op_cases.h"

namespace systole::graph_testing {

std::vector<OpCase> nn_error_cases() {
  // x: an image batch, a filter, rows, integers
  const auto row = [](std::string name, BuildFn build, std::string error) {
    return OpCase{
        .name = "error_" + std::move(name),
        .build = std::move(build),
        .inputs = {Tensor::zeros(DType::f32, {1, 4, 4, 2}), Tensor::zeros(DType::f32, {3, 3, 2, 5}),
                   Tensor::zeros(DType::f32, {2, 3}), Tensor::zeros(DType::s32, {2})},
        .error = std::move(error)};
  };
  return {
      row(
          "softmax_axis", [](auto& x) { return softmax(x[2], {.axis = 2}); },
          "Softmax: axis, got 2, expected in [-2, 2), at nn_error_cases.cc:"),
      row(
          "softmax_dtype", [](auto& x) { return softmax(x[3]); },
          "Softmax: logits, got s32, expected a floating one, node 'Softmax' at "
          "nn_error_cases.cc:"),
      row(
          "softmax_scalar", [](auto&) { return softmax(1.0F); },
          "Softmax: logits, got a scalar, expected rank >= 1"),
      row(
          "cross_entropy_shapes",
          [](auto& x) {
            return softmax_cross_entropy_with_logits({.labels = x[1], .logits = x[2]});
          },
          "SoftmaxCrossEntropyWithLogits: logits and labels, got f32[2,3] and f32[3,3,2,5], "
          "expected the same size, node 'softmax_cross_entropy_with_logits' at nn_error_cases.cc:"),
      row(
          "sparse_labels",
          [](auto& x) {
            return sparse_softmax_cross_entropy_with_logits({.labels = x[2], .logits = x[2]});
          },
          "SparseSoftmaxCrossEntropyWithLogits: labels, got f32[2,3], expected integers of shape "
          "[2] for logits f32[2,3]"),
      row(
          "sigmoid_cross_entropy",
          [](auto& x) {
            return sigmoid_cross_entropy_with_logits({.labels = x[3], .logits = x[2]});
          },
          "sigmoid_cross_entropy_with_logits: logits and labels, got f32[2,3] and s32[2], expected "
          "equal types, at nn_error_cases.cc:"),
      row(
          "conv2d_rank", [](auto& x) { return conv2d(x[2], x[1]); },
          "Conv2D: input, got f32[2,3], expected rank 4, node 'Conv2D' at nn_error_cases.cc:"),
      row(
          "conv2d_channels",
          [](auto& x) {
            return conv2d(transpose(x[0], {.perm = {0, 3, 1, 2}}), x[1]);
          },
          "Conv2D: input channels, got 4 of input f32[1,2,4,4], expected 2 as filter f32[3,3,2,5] "
          "has"),
      row(
          "conv2d_strides",
          [](auto& x) {
            return conv2d(x[0], x[1], {.strides = {2, 1, 1, 1}});
          },
          "Conv2D: strides, got [2, 1, 1, 1], expected 1 for the batch and the channels, at "
          "nn_error_cases.cc:"),
      row(
          "conv2d_strides_count",
          [](auto& x) {
            return conv2d(x[0], x[1], {.strides = {1, 1, 1}});
          },
          "Conv2D: strides, got [1, 1, 1], expected one number, two, or four"),
      row(
          "conv2d_format", [](auto& x) { return conv2d(x[0], x[1], {.data_format = "CHWN"}); },
          "Conv2D: data_format, got 'CHWN', expected 'NHWC' or 'NCHW', at nn_error_cases.cc:"),
      row(
          "conv2d_window", [](auto& x) { return conv2d(x[0], x[1], {.dilations = {2}}); },
          "Conv2D: window of 3 with dilation 2, got an input of 4, expected at least 5"),
      row(
          "depthwise_channels", [](auto& x) { return depthwise_conv2d(x[0], transpose(x[1])); },
          "DepthwiseConv2dNative: input channels, got 2 of input f32[1,4,4,2], expected 3 as "
          "filter f32[5,2,3,3] has, node 'depthwise' at nn_error_cases.cc:"),
      row(
          "conv3d_rank", [](auto& x) { return conv3d(x[0], x[1]); },
          "Conv3D: input, got f32[1,4,4,2], expected rank 5, node 'Conv3D' at nn_error_cases.cc:"),
      row(
          "conv3d_strides_count",
          [](auto& x) {
            return conv3d(x[0], x[1], {.strides = {1, 1}});
          },
          "Conv3D: strides, got [1, 1], expected one number, three, or five"),
      row(
          "conv3d_format", [](auto& x) { return conv3d(x[0], x[1], {.data_format = "NHWC"}); },
          "Conv3D: data_format, got 'NHWC', expected 'NDHWC' or 'NCDHW', at nn_error_cases.cc:"),
      row(
          "max_pool3d_rank", [](auto& x) { return max_pool3d(x[0]); },
          "MaxPool3D: value, got [1,4,4,2], expected rank 5"),
      row(
          "avg_pool3d_window",
          [](auto& x) {
            return avg_pool3d(expand_dims(x[0], 1), {.ksize = {1, 5, 2}});
          },
          "AvgPool3D: window of 5 with dilation 1, got an input of 4, expected at least 5"),
      row(
          "max_pool_rank", [](auto& x) { return max_pool(x[2]); },
          "MaxPool: value, got [2,3], expected rank 4"),
      row(
          "max_pool_window", [](auto& x) { return max_pool(x[0], {.ksize = {5}}); },
          "MaxPool: window of 5 with dilation 1, got an input of 4, expected at least 5"),
      row(
          "max_pool_ksize", [](auto& x) { return max_pool(x[0], {.ksize = {0}}); },
          "MaxPool: ksize, got [0], expected positive numbers, at nn_error_cases.cc:"),
      row(
          "avg_pool_dtype",
          [](auto&) {
            return avg_pool(Tensor::zeros(DType::s32, {1, 2, 2, 1}));
          },
          "AvgPool: value, got s32, expected a floating one"),
      row(
          "bias_add_size", [](auto& x) { return bias_add(x[2], Tensor::zeros(DType::f32, {2})); },
          "BiasAdd: value and bias, got f32[2,3] and f32[2], expected rank >= 2 and a vector of "
          "its "
          "channels, node 'BiasAdd' at nn_error_cases.cc:"),
      row(
          "bias_add_format", [](auto& x) { return bias_add(x[2], x[2], {.data_format = "HW"}); },
          "BiasAdd: data_format, got 'HW', expected 'NHWC' or 'NCHW', at nn_error_cases.cc:"),
      row(
          "moments_dtype", [](auto& x) { return moments(x[3], 0).mean; },
          "moments: dtype, got s32, expected a floating one, at nn_error_cases.cc:"),
      row(
          "fused_batch_norm_rank", [](auto& x) { return fused_batch_norm(x[2], 1, 0).y; },
          "fused_batch_norm: x, got f32[2,3], expected rank 4, at nn_error_cases.cc:"),
      row(
          "fused_batch_norm_inference",
          [](auto& x) { return fused_batch_norm(x[0], 1, 0, {.is_training = false}).y; },
          "fused_batch_norm: is_training = false, got no mean or no variance, expected both of "
          "them, at nn_error_cases.cc:"),
      row(
          "dropout_keep_prob", [](auto& x) { return dropout(x[2], 0); },
          "dropout: keep_prob, got 0, expected a number in (0, 1], at nn_error_cases.cc:"),
      row(
          "dropout_dtype", [](auto& x) { return dropout(x[3], 0.5); },
          "dropout: dtype, got s32, expected a floating one, at nn_error_cases.cc:"),
  };
}

}  // namespace systole::graph_testing
