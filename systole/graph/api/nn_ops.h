// Neural network ops. (tf.nn)
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/axes.h"
#include "systole/graph/core/graph.h"
#include "systole/graph/core/op_options.h"

namespace systole {

// -- Softmax and cross entropy. Floating dtypes; maxima are subtracted first, so that nothing
// overflows.

struct SoftmaxOptions {
  int64_t axis = -1;
  std::string name = {};
};
// exp(x) / sum(exp(x)) along `axis`; the shape of `logits`. (tf.nn.softmax)
Output softmax(const Input& logits, const SoftmaxOptions& options = {});
// x - log(sum(exp(x))) along `axis`. (tf.nn.log_softmax)
Output log_softmax(const Input& logits, const SoftmaxOptions& options = {});

// tf.nn's cross entropies take keywords only: labels and logits are too easy to swap.
struct CrossEntropyOptions {
  Input labels;
  Input logits;
  int64_t axis = -1;
  std::string name = {};
};
// labels, logits: [.., classes] of one floating dtype, each row of labels a distribution; result:
// [..]. -sum(labels * log_softmax(logits)). As TensorFlow's, no gradient flows into `labels`; the
// _v2 form has it.
Output softmax_cross_entropy_with_logits(const CrossEntropyOptions& options);
Output softmax_cross_entropy_with_logits_v2(const CrossEntropyOptions& options);
// labels: [..] integers in [0, classes); logits: [.., classes]. A label out of range gives NaN, as
// in TensorFlow on TPU.
Output sparse_softmax_cross_entropy_with_logits(const CrossEntropyOptions& options);
// labels, logits: one shape; elementwise -(labels * log(sigmoid(x)) + (1 - labels) * log(1 -
// sigmoid(x))).
Output sigmoid_cross_entropy_with_logits(const CrossEntropyOptions& options);

// -- Convolution and pooling.

// How windows meet the edges of an image: Padding::same, Padding::valid, or as TensorFlow writes
// them: .padding = "same".
class Padding {
 public:
  enum Kind : uint8_t { valid, same };

  constexpr Padding(Kind kind) : kind_(kind) {}  // NOLINT(google-explicit-constructor)
  // Errors: INVALID_ARGUMENT for anything but "SAME" and "VALID", in either case.
  Padding(const char* text,  // NOLINT(google-explicit-constructor)
          Input::Where where = Input::Where::current());
  Padding(const std::string& text,  // NOLINT(google-explicit-constructor)
          Input::Where where = Input::Where::current())
      : Padding(text.c_str(), where) {}

  constexpr operator Kind() const { return kind_; }  // NOLINT(google-explicit-constructor)

 private:
  Kind kind_;
};
// The same without a line of the user. Errors: INVALID_ARGUMENT for other texts.
Padding padding_from_string(std::string_view text);

struct Conv2DOptions {
  // One number, {height, width}, or all four as TensorFlow writes them ({1, 2, 2, 1}).
  std::vector<int64_t> strides = {1};
  Padding padding = Padding::valid;
  std::vector<int64_t> dilations = {1};
  std::string data_format = "NHWC";  // or "NCHW"
  std::string name = {};
};
// input: [batch, height, width, in] (NHWC); filter: [height, width, in, out]; one floating dtype.
// result: [batch, height', width', out]. SAME: height' = ceil(height / stride), zeros at the edges,
// the odd one after; VALID: ceil((height - (filter - 1) * dilation) / stride). (tf.nn.conv2d)
Output conv2d(const Input& input, const Input& filter, const Conv2DOptions& options = {});
// filter: [height, width, in, multiplier]; result channel i * multiplier + j is input channel i
// under filter j. (tf.nn.depthwise_conv2d)
Output depthwise_conv2d(const Input& input, const Input& filter, const Conv2DOptions& options = {});

struct Conv3DOptions {
  // One number, {depth, height, width}, or all five ({1, 2, 2, 2, 1}).
  std::vector<int64_t> strides = {1};
  Padding padding = Padding::valid;
  std::vector<int64_t> dilations = {1};
  std::string data_format = "NDHWC";  // or "NCDHW"
  std::string name = {};
};
// input: [batch, depth, height, width, in] (NDHWC); filter: [depth, height, width, in, out]. Sizes
// as conv2d's. (tf.nn.conv3d)
Output conv3d(const Input& input, const Input& filter, const Conv3DOptions& options = {});

struct PoolOptions {
  std::vector<int64_t> ksize = {2};
  std::vector<int64_t> strides = {2};
  Padding padding = Padding::valid;
  std::string data_format = "NHWC";
  std::string name = {};
};
// The largest / the mean of each window of a [batch, height, width, channels] tensor; padding
// counts for neither. The gradient of a maximum goes to the first of equals. (tf.nn.max_pool,
// tf.nn.avg_pool)
Output max_pool(const Input& value, const PoolOptions& options = {});
Output avg_pool(const Input& value, const PoolOptions& options = {});

struct Pool3DOptions {
  std::vector<int64_t> ksize = {2};
  std::vector<int64_t> strides = {2};
  Padding padding = Padding::valid;
  std::string data_format = "NDHWC";
  std::string name = {};
};
// The same of a [batch, depth, height, width, channels] tensor. (tf.nn.max_pool3d,
// tf.nn.avg_pool3d)
Output max_pool3d(const Input& value, const Pool3DOptions& options = {});
Output avg_pool3d(const Input& value, const Pool3DOptions& options = {});

struct BiasAddOptions {
  std::string data_format = "NHWC";
  std::string name = {};
};
// value + bias; bias: [channels], along the last axis (NHWC) or axis 1 (NCHW). (tf.nn.bias_add)
Output bias_add(const Input& value, const Input& bias, const BiasAddOptions& options = {});

// -- Normalisation.

struct MomentsOptions {
  bool keep_dims = false;
  std::string name = "moments";
};
struct Moments {
  Output mean;
  Output variance;  // of the population: divided by n
};
// Mean and variance over `axes`, computed in f32 for 16-bit inputs. As TensorFlow's, the variance's
// gradient is right but takes the mean as a constant: differentiating it again leaves the mean out;
// reduce_variance has all derivatives. (tf.nn.moments)
Moments moments(const Input& x, const Axes& axes, const MomentsOptions& options = {});

struct BatchNormalizationOptions {
  Output offset;  // beta; none when invalid
  Output scale;   // gamma; none when invalid
  double variance_epsilon = 0.001;
  std::string name = "batchnorm";
};
// (x - mean) / sqrt(variance + epsilon) * scale + offset, all broadcast to x.
// (tf.nn.batch_normalization)
Output batch_normalization(const Input& x, const Input& mean, const Input& variance,
                           const BatchNormalizationOptions& options = {});

struct FusedBatchNormOptions {
  Output mean;      // used when not training
  Output variance;  // used when not training
  double epsilon = 0.001;
  std::string data_format = "NHWC";
  bool is_training = true;
  std::string name = "FusedBatchNorm";
};
struct FusedBatchNorm {
  Output y;
  Output batch_mean;
  Output batch_variance;  // when training: n / (n - 1) times the population's, as TensorFlow gives
                          // it for averaging
};
// x: 4-D; scale, offset: [channels]. Normalises over batch, height and width.
// (tf.nn.fused_batch_norm) Errors: INVALID_ARGUMENT when not training and mean or variance is
// absent.
FusedBatchNorm fused_batch_norm(const Input& x, const Input& scale, const Input& offset,
                                const FusedBatchNormOptions& options = {});

struct L2NormalizeOptions {
  double epsilon = 1e-12;
  std::string name = "l2_normalize";
};
// x / sqrt(max(sum(x^2 over axes), epsilon)). (tf.nn.l2_normalize)
Output l2_normalize(const Input& x, const Axes& axes, const L2NormalizeOptions& options = {});

// -- Other.

struct DropoutOptions {
  std::vector<int64_t> noise_shape = {};  // x's when empty; 1 shares a draw along an axis
  std::optional<int64_t> seed = std::nullopt;
  std::string name = "dropout";
};
// Each element is kept with probability `keep_prob` and divided by it, else 0. A literal keep_prob
// of 1 gives x itself. Errors: INVALID_ARGUMENT for a literal outside (0, 1]. (tf.nn.dropout of
// TensorFlow 1: keep_prob, not rate)
Output dropout(const Input& x, const Input& keep_prob, const DropoutOptions& options = {});

// The rows of `params` ([size, ...]) that `ids`, integers of any shape, names: their shape replaces
// the first axis. An id out of range is taken to the nearest in range. (tf.nn.embedding_lookup)
Output embedding_lookup(const Input& params, const Input& ids, const NameOptions& options = {});

// x * weights + biases. (tf.nn.xw_plus_b)
Output xw_plus_b(const Input& x, const Input& weights, const Input& biases,
                 const NameOptions& options = {});

}  // namespace systole
