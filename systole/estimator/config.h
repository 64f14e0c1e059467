// How an Estimator runs. (tf.contrib.tpu.TPUConfig, RunConfig)
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "systole/estimator/iterations_per_loop.h"
#include "systole/session/session.h"

namespace systole {

// NOLINTBEGIN(readability-identifier-naming): TensorFlow's names

// How the input_fn's batches become those of the replicas.
enum class InputPipelineConfig : uint8_t {
  // Called once for each replica, with the batch size of one.
  PER_SHARD_V1 = 1,
  // Called once, with the whole batch size; each batch is split over the replicas. The default.
  PER_HOST_V1 = 2,
  // Called once, with the batch size of one replica; each replica takes a batch of its own.
  PER_HOST_V2 = 3,
  // Called once, with the whole batch size; every replica gets the whole batch.
  BROADCAST = 4,
  // Evaluation and prediction only: as PER_HOST_V1.
  SLICED = 5,
};

// NOLINTEND(readability-identifier-naming)

// What to do with what a TPU would refuse (estimator/check.h).
enum class Check : uint8_t { off, warn, error };

// How products (dots and convolutions) of f32 are computed: as f32, or as a TPU's matrix unit does
// by default, with inputs rounded to bf16 and sums in f32.
enum class Precision : uint8_t { full, tpu };

struct TPUConfig {
  // Steps of training that one launch runs. Nothing on the host runs between them: hooks, summaries
  // and checkpoints see every iterations_per_loop-th step.
  IterationsPerLoop iterations_per_loop = 2;
  // The number of replicas, only to be compared with the number that there are.
  std::optional<int64_t> num_shards = std::nullopt;
  // 1; more (a model over several cores) is UNIMPLEMENTED.
  std::optional<int64_t> num_cores_per_replica = std::nullopt;
  InputPipelineConfig per_host_input_for_training = InputPipelineConfig::PER_HOST_V1;
  InputPipelineConfig eval_training_input_configuration = InputPipelineConfig::PER_HOST_V1;
  std::optional<int64_t> experimental_host_call_every_n_steps = std::nullopt;
  // Absent: `error` with use_tpu, `warn` without.
  std::optional<Check> check = std::nullopt;
  // In training, evaluation and prediction, on any device.
  Precision precision = Precision::full;
  // The calls of an input_fn, input, a launch or a host_call that take longer fail with
  // DEADLINE_EXCEEDED in place of hanging; 0: they may take any time. A launch has as long for each
  // of its steps, or, once there was one, ten times as long as that took a step besides.
  double hang_timeout_secs = 1800;

  // Errors: INVALID_ARGUMENT, UNIMPLEMENTED, with TensorFlow's texts where it has one.
  void validate() const;
};

struct RunConfig {
  // "" (this machine), "local" (a virtual TPU), what TPUClusterResolver gives. With use_tpu, "" is
  // "local".
  std::string master = {};
  std::string model_dir = {};          // a temporary folder when empty
  std::string evaluation_master = {};  // master when empty
  // Of the model's random ops, and of shuffles in the input that have none.
  std::optional<int64_t> tf_random_seed = std::nullopt;
  // 0: no summaries.
  int64_t save_summary_steps = 100;
  // At most one of the two; neither: every 600 seconds. 0 for both: no checkpoints.
  std::optional<int64_t> save_checkpoints_steps = std::nullopt;
  std::optional<int64_t> save_checkpoints_secs = std::nullopt;
  int64_t keep_checkpoint_max = 5;  // 0: all
  double keep_checkpoint_every_n_hours = 10000;
  bool checkpoint_save_graph_def = true;  // the graph beside each checkpoint, model.ckpt-N.meta
  // If the input position and random numbers beside a checkpoint are damaged and its weights are
  // not: continues with the weights alone. Otherwise that is an error.
  bool allow_weights_only = false;
  int64_t log_step_count_steps = 100;  // 0: never
  SessionConfig session_config = {};
  TPUConfig tpu_config = {};

  // Errors: as TPUConfig's.
  void validate() const;
  // The same with what the environment variable TF_CONFIG (JSON: model_dir, session_master,
  // eval_session_master, service) says where nothing is set here.
  RunConfig with_environment() const;
};

}  // namespace systole
