// Layers in which each step of one sequence reads the steps of another by their likeness.
// (tf.keras.layers)
//
//   auto seen = layers::Attention()({query, value});
//   auto y = layers::MultiHeadAttention(2, 16)(x, x, {.use_causal_mask = true});
#pragma once

#include "systole/keras/layers/axis_list.h"
#include "systole/keras/layers/core.h"

namespace systole::keras::layers {

struct AttentionOptions {
  bool use_scale = false;          // whether scores have a factor that is trained
  std::string score_mode = "dot";  // or "concat": a factor times the sum of tanh(query + key)
  double dropout = 0;              // of the weights, in training
  bool causal = false;             // use_causal_mask of every call (TensorFlow up to 2.9)
  std::optional<int64_t> seed = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
struct AttentionCallOptions {
  std::optional<bool> training = std::nullopt;
  KerasTensors mask = {};  // {query_mask, value_mask}, pred [batch, steps]; none: those of inputs
  bool return_attention_scores = false;  // as a second result [batch, queries, keys]
  bool use_causal_mask = false;          // a query sees no later key
};
// Inputs {query, value} or {query, value, key}, f32 [batch, queries, size], [batch, keys, size']
// and [batch, keys, size]: softmax(query key^T) value, [batch, queries, size']. Without a key the
// value is the key. Masked keys count as if their scores were 1e9 less; results of masked queries
// are 0, and stay masked. Weights: scale and concat_score_weight, where there are such factors.
class Attention : public Layer {
 public:
  explicit Attention(AttentionOptions options = {}, Where where = Where::current());
  KerasTensors operator()(const KerasTensors& inputs,
                          const AttentionCallOptions& options = {}) const;
};

struct MultiHeadAttentionOptions {
  int64_t num_heads = 0;                            // required
  int64_t key_dim = 0;                              // required: of each head's queries and keys
  std::optional<int64_t> value_dim = std::nullopt;  // of each head's values; key_dim
  double dropout = 0;                               // of the weights, in training
  bool use_bias = true;
  std::optional<AxisList> output_shape = std::nullopt;    // features of the result; the query's
  std::optional<AxisList> attention_axes = std::nullopt;  // all but batch and features
  InitializerSpec kernel_initializer = "glorot_uniform";
  InitializerSpec bias_initializer = "zeros";
  RegularizerSpec kernel_regularizer = nullptr;
  RegularizerSpec bias_regularizer = nullptr;
  RegularizerSpec activity_regularizer = nullptr;
  ConstraintSpec kernel_constraint = nullptr;
  ConstraintSpec bias_constraint = nullptr;
  std::string name = {};
  bool trainable = true;
};
struct MultiHeadAttentionCallOptions {
  std::optional<bool> training = std::nullopt;
  KerasTensors key = {};                 // the value when none
  KerasTensors attention_mask = {};      // [batch, queries, keys], not 0 where a query sees a key
  bool return_attention_scores = false;  // as a second result [batch, heads, queries, keys]
  bool use_causal_mask = false;          // a query sees no later key
};

// Projects query [batch, queries.., in], key and value [batch, keys.., in'] for each of num_heads
// heads, attends, and projects the heads' results to [batch, queries.., out]. Scores are divided by
// sqrt(key_dim); 1e9 is taken from those of masked keys and queries.
// Weights: kernel [in, num_heads, size] and bias [num_heads, size] of query, key and value, kernel
// [num_heads, value_dim, out..] and bias [out..] of attention_output.
// Source: Vaswani et al., arXiv 1706.03762.
class MultiHeadAttention : public Layer {
 public:
  MultiHeadAttention(int64_t num_heads, int64_t key_dim, MultiHeadAttentionOptions options = {},
                     Where where = Where::current());
  explicit MultiHeadAttention(MultiHeadAttentionOptions options, Where where = Where::current())
      : MultiHeadAttention(options.num_heads, options.key_dim, options, where) {}
  KerasTensors operator()(const KerasTensors& query, const KerasTensors& value,
                          const MultiHeadAttentionCallOptions& options = {}) const;
};

}  // namespace systole::keras::layers
