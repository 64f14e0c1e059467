// TensorFlow 1's modules as namespaces, so that a line of Python is a line here: tf.nn.softmax is
// st::nn::softmax, tf.train.AdamOptimizer st::train::AdamOptimizer, tf.float32 st::float32. Each
// is another name of what stands in `systole` itself. docs/sessions.md has programs.
#pragma once

#include "systole/base/dtype.h"
#include "systole/cluster/tpu_cluster_resolver.h"
#include "systole/data/dataset.h"
#include "systole/data/sources.h"
#include "systole/estimator/estimator.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/debugging_ops.h"
#include "systole/graph/api/io_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/api/parsing_ops.h"
#include "systole/graph/api/tpu_ops.h"
#include "systole/graph/functions/array_functions.h"
#include "systole/graph/functions/attention.h"
#include "systole/graph/functions/math_functions.h"
#include "systole/graph/functions/nn_functions.h"
#include "systole/graph/functions/positional_arguments.h"
#include "systole/graph/functions/tpu_replicate.h"
#include "systole/graph/functions/variable_scope.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/records/tfrecord.h"
#include "systole/session/graph_def/graph_def.h"
#include "systole/train/candidate_sampling.h"
#include "systole/train/checkpoint_utils.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/layers.h"
#include "systole/train/loop/hooks.h"
#include "systole/train/loop/monitored_session.h"
#include "systole/train/loop/summary_saver_hook.h"
#include "systole/train/moving_averages.h"
#include "systole/train/optimizer.h"
#include "systole/train/saver.h"

namespace systole {

// tf.float32 and so on. (float16 and bfloat16 are classes of numbers here: DType::f16,
// DType::bf16.)
inline constexpr DType float32 = DType::f32;
inline constexpr DType float64 = DType::f64;
inline constexpr DType int8 = DType::s8;
inline constexpr DType int16 = DType::s16;
inline constexpr DType int32 = DType::s32;
inline constexpr DType int64 = DType::s64;
inline constexpr DType uint8 = DType::u8;
inline constexpr DType uint16 = DType::u16;
inline constexpr DType bool_ = DType::pred;
inline constexpr DType string = DType::string;

// `with tf.name_scope("a"):` is `st::name_scope scope("a");`.
using name_scope = NameScope;
using variable_scope = VariableScope;

// tf.nn, beside what math_ops.h and train/rnn.h put there.
namespace nn {
using systole::atrous_conv2d;
using systole::attention;
using systole::avg_pool;
using systole::avg_pool3d;
using systole::batch_normalization;
using systole::bias_add;
using systole::conv1d;
using systole::conv2d;
using systole::conv2d_transpose;
using systole::conv3d;
using systole::conv3d_transpose;
using systole::crelu;
using systole::depthwise_conv2d;
using systole::dropout;
using systole::embedding_lookup;
using systole::fused_batch_norm;
using systole::in_top_k;
using systole::l2_normalize;
using systole::local_response_normalization;
inline Output lrn(const Input& input, const LocalResponseNormalizationOptions& options = {}) {
  return local_response_normalization(input, options);
}
using systole::log_sigmoid;
using systole::log_softmax;
using systole::log_uniform_candidate_sampler;
using systole::max_pool;
using systole::max_pool3d;
using systole::moments;
using systole::nce_loss;
using systole::relu_layer;
using systole::sampled_softmax_loss;
using systole::separable_conv2d;
using systole::sigmoid_cross_entropy_with_logits;
using systole::softmax;
using systole::softmax_cross_entropy_with_logits;
using systole::softmax_cross_entropy_with_logits_v2;
using systole::sparse_softmax_cross_entropy_with_logits;
using systole::swish;
using systole::top_k;
using systole::uniform_candidate_sampler;
using systole::weighted_cross_entropy_with_logits;
using systole::xw_plus_b;
using systole::zero_fraction;
}  // namespace nn

// tf.train: the optimizers stand in graph/optimizers, the schedules in train/schedules.
namespace train {
using systole::CheckpointSaverHook;
using systole::ExponentialMovingAverage;
using systole::FinalOpsHook;
using systole::get_global_step;
using systole::get_or_create_global_step;
using systole::init_from_checkpoint;
using systole::latest_checkpoint;
using systole::LoggingTensorHook;
using systole::MonitoredSession;
using systole::MonitoredTrainingSession;
using systole::NanTensorHook;
using systole::Optimizer;
using systole::Saver;
using systole::Scaffold;
using systole::SessionRunHook;
using systole::SingularMonitoredSession;
using systole::StepCounterHook;
using systole::StopAtStepHook;
using systole::SummarySaverHook;
using systole::checkpoint_utils::list_variables;
using systole::checkpoint_utils::load_variable;
}  // namespace train

// tf.debugging
namespace debugging {
using systole::assert_equal;
using systole::assert_greater;
using systole::assert_greater_equal;
using systole::assert_integer;
using systole::assert_less;
using systole::assert_less_equal;
using systole::assert_near;
using systole::assert_negative;
using systole::assert_non_negative;
using systole::assert_non_positive;
using systole::assert_none_equal;
using systole::assert_positive;
using systole::assert_rank;
using systole::assert_rank_at_least;
using systole::assert_scalar;
using systole::assert_type;
using systole::check_numerics;
using systole::is_finite;
using systole::is_inf;
using systole::is_nan;
}  // namespace debugging

// tf.data
namespace data {
using systole::CsvDataset;
using systole::Dataset;
using systole::FixedLengthRecordDataset;
using systole::TextLineDataset;
using systole::TFRecordDataset;
}  // namespace data

// tf.estimator
namespace estimator {
namespace ModeKeys = systole::ModeKeys;
using systole::BestExporter;
using systole::Estimator;
using systole::EstimatorSpec;
using systole::EvalSpec;
using systole::Exporter;
using systole::FinalExporter;
using systole::LatestExporter;
using systole::RunConfig;
using systole::train_and_evaluate;
using systole::TrainSpec;
}  // namespace estimator

// tf.contrib.data: what Dataset::apply takes, and what stands beside it.
namespace contrib::data {
using systole::batch_and_drop_remainder;
using systole::CsvDataset;
using systole::ignore_errors;
using systole::make_saveable_from_iterator;
using systole::map_and_batch;
using systole::shuffle_and_repeat;
using systole::unbatch;
using Transformation = std::function<Dataset(const Dataset&)>;
template <class F>
Transformation bucket_by_sequence_length(F element_length_func, const BucketOptions& options) {
  return
      [=](const Dataset& d) { return d.bucket_by_sequence_length(element_length_func, options); };
}
inline Transformation enumerate_dataset(int64_t start = 0) {
  return [=](const Dataset& d) { return d.enumerate(start); };
}
inline Transformation padded_batch_and_drop_remainder(int64_t batch_size,
                                                      PaddedBatchOptions options = {}) {
  options.drop_remainder = true;
  return [=](const Dataset& d) { return d.padded_batch(batch_size, options); };
}
// TensorFlow's `sloppy` is .deterministic = false.
template <class F>
Transformation parallel_interleave(F map_func, InterleaveOptions options) {
  if (options.num_parallel_calls == 0) options.num_parallel_calls = options.cycle_length;
  return [=](const Dataset& d) { return d.interleave(map_func, options); };
}
inline Dataset sample_from_datasets(const std::vector<Dataset>& datasets,
                                    const std::vector<double>& weights = {},
                                    std::optional<int64_t> seed = std::nullopt) {
  return Dataset::sample_from_datasets(datasets, weights, seed);
}
}  // namespace contrib::data

// tf.io, tf.python_io
namespace io {
using systole::decode_csv;
using systole::decode_raw;
using systole::FixedLenFeature;
using systole::FixedLenSequenceFeature;
using systole::matching_files;
using systole::parse_example;
using systole::parse_single_example;
using systole::read_file;
using systole::VarLenFeature;
using systole::write_file;
using systole::write_graph_def;
// Writes a TFRecord file given by its path alone, on this machine or in a bucket:
// TFRecordWriter("gs://bucket/train.tfrecord"). The file is complete after close().
// (tf.python_io.TFRecordWriter)
class TFRecordWriter : public RecordWriter {
 public:
  explicit TFRecordWriter(const std::string& path, RecordWriterOptions options = {})
      : RecordWriter(default_file_system(), path, options) {}
};
using systole::TFRecordOptions;
}  // namespace io
namespace python_io = io;

// tf.tpu, tf.contrib.tpu: beside the ops of graph/api/tpu_ops.h and its neighbours.
namespace tpu {
using systole::CrossShardOptimizer;
using systole::InputPipelineConfig;
using systole::RunConfig;
using systole::TPUConfig;
using systole::TPUEstimator;
using systole::TPUEstimatorSpec;
}  // namespace tpu
namespace contrib {
namespace tpu = systole::tpu;
namespace cluster_resolver {
using systole::TPUClusterResolver;
}  // namespace cluster_resolver
}  // namespace contrib

// tf.contrib.layers: what programs that are all tf.layers otherwise take from it.
namespace contrib::layers {
using systole::layers::l1_l2_regularizer;
using systole::layers::l1_regularizer;
using systole::layers::l2_regularizer;
using systole::layers::layer_norm;
inline Initializer xavier_initializer(bool uniform = true, std::optional<int64_t> seed = {}) {
  return uniform ? glorot_uniform_initializer(seed) : glorot_normal_initializer(seed);
}
}  // namespace contrib::layers

}  // namespace systole
