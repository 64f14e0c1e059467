// Configuration of an estimator. (tf.contrib.tpu.TPUConfig, RunConfig)
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "systole/session/session.h"
#include "systole/train/loop/iterations_per_loop.h"

namespace systole {

// NOLINTBEGIN(readability-identifier-naming): TensorFlow's names

// How the batches of an input_fn are distributed to replicas.
enum class InputPipelineConfig : uint8_t {
  // One call for each replica, with the batch size of a replica.
  PER_SHARD_V1 = 1,
  // One call with the whole batch size; each batch is split over the replicas. The default.
  PER_HOST_V1 = 2,
  // One call with the batch size of a replica; each replica takes the next batch.
  PER_HOST_V2 = 3,
  // One call with the whole batch size; every replica gets the whole batch.
  BROADCAST = 4,
  // For evaluation and prediction only: as PER_HOST_V1.
  SLICED = 5,
};

// NOLINTEND(readability-identifier-naming)

// The reaction to a model that a TPU would refuse (estimator/check).
enum class Check : uint8_t { off, warn, error };

// How dots and convolutions of f32 are computed: in f32, or with inputs rounded to bf16 and sums in
// f32, as a TPU does by default.
enum class Precision : uint8_t { full, tpu };

struct TPUConfig {
  // Steps of a training loop. Hooks, summaries and checkpoints run between loops only. Absent: 2 on
  // a TPU; elsewhere as many steps as no hook needs to see, so that hooks run as if it were 1.
  std::optional<IterationsPerLoop> iterations_per_loop = std::nullopt;
  // The expected number of replicas; another number is an error, except 1, which uses one core.
  std::optional<int64_t> num_shards = std::nullopt;
  // Only 1 is implemented: no model parallelism.
  std::optional<int64_t> num_cores_per_replica = std::nullopt;
  InputPipelineConfig per_host_input_for_training = InputPipelineConfig::PER_HOST_V1;
  InputPipelineConfig eval_training_input_configuration = InputPipelineConfig::PER_HOST_V1;
  // On a TPU; elsewhere a host_call is called for every step.
  std::optional<int64_t> experimental_host_call_every_n_steps = std::nullopt;
  // Absent: `error` with use_tpu, otherwise `warn`; `off` for Estimator.
  std::optional<Check> check = std::nullopt;
  // For training, evaluation and prediction, on any device.
  Precision precision = Precision::full;
  // The time limit of a call of the input_fn, of reading a batch, of a step and of a host_call;
  // exceeding it is DEADLINE_EXCEEDED. 0: no limit. A launch after the first is limited to this
  // time plus ten times that of the previous launch.
  double hang_timeout_secs = 1800;

  // Errors: INVALID_ARGUMENT, UNIMPLEMENTED, with TensorFlow's texts where it has one.
  void validate() const;
};

struct RunConfig {
  // "" (this machine), "local" (a virtual TPU), or TPUClusterResolver::master(). With use_tpu, ""
  // means "local".
  std::string master = {};
  std::string model_dir = {};          // empty: a temporary folder
  std::string evaluation_master = {};  // empty: master
  // The seed of unseeded random ops and unseeded shuffles.
  std::optional<int64_t> tf_random_seed = std::nullopt;
  // 0: no summaries.
  int64_t save_summary_steps = 100;
  // At most one of the two. Neither: every 600 seconds. 0: no checkpoints.
  std::optional<int64_t> save_checkpoints_steps = std::nullopt;
  std::optional<int64_t> save_checkpoints_secs = std::nullopt;
  int64_t keep_checkpoint_max = 5;  // 0: all
  double keep_checkpoint_every_n_hours = 10000;
  bool checkpoint_save_graph_def = true;  // writes the graph of each checkpoint, model.ckpt-N.meta
  // If the input position and random numbers beside a checkpoint are damaged and its weights are
  // not: continues with the weights alone. Otherwise that is an error.
  bool allow_weights_only = false;
  int64_t log_step_count_steps = 100;  // 0: never
  SessionConfig session_config = {};
  TPUConfig tpu_config = {};

  // Errors: as TPUConfig's.
  void validate() const;
  // Returns a copy whose empty fields are filled from the environment variable TF_CONFIG (JSON:
  // model_dir, session_master, eval_session_master). Warns once when TF_CONFIG has a cluster or a
  // task, which are ignored. Errors: INVALID_ARGUMENT for a TF_CONFIG that cannot be read.
  RunConfig with_environment() const;
};

}  // namespace systole
