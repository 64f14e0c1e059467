// TPUEstimator and Estimator: train, evaluate and predict with a model_fn and an input_fn.
// (tf.contrib.tpu.TPUEstimator, tf.estimator.Estimator)
//
//   st::TPUEstimator estimator({.model_fn = model_fn, .train_batch_size = 1024});
//
//   estimator.train(input_fn, {.max_steps = 1000});
//
//   const st::Evaluation result = estimator.evaluate(eval_input_fn);
//
//   for (const auto& prediction : estimator.predict(predict_input_fn)) ...
//
// docs/migrating.md lists the differences from TensorFlow.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "systole/estimator/check_report.h"
#include "systole/estimator/config.h"
#include "systole/estimator/evaluation.h"
#include "systole/estimator/exporters.h"
#include "systole/estimator/functions.h"
#include "systole/estimator/params.h"
#include "systole/estimator/serving.h"
#include "systole/estimator/spec.h"
#include "systole/estimator/tpu_context.h"
#include "systole/quantize/quantize.h"
#include "systole/train/loop/capture_hook.h"

namespace systole {

// The first values of variables if model_dir has no checkpoint.
struct WarmStartSettings {
  WarmStartSettings() = default;
  WarmStartSettings(std::string path) : ckpt_to_initialize_from(std::move(path)) {}  // NOLINT
  WarmStartSettings(const char* path) : ckpt_to_initialize_from(path) {}             // NOLINT

  // A checkpoint's prefix, a model_dir, or the folder of a SavedModel.
  std::string ckpt_to_initialize_from;
  // A regular expression that matches from the start of the names of trainable variables, as
  // Python's re.match.
  std::string vars_to_warm_start = ".*";
  std::map<std::string, std::string> var_name_to_prev_var_name = {};
};

struct TPUEstimatorOptions {
  ModelFn model_fn = nullptr;
  std::string model_dir = {};  // empty: config.model_dir
  RunConfig config = {};
  Params params = {};  // "batch_size" and "context" are reserved
  bool use_tpu = true;
  // Over all replicas. With use_tpu, train_batch_size is required, and the others for their modes.
  std::optional<int64_t> train_batch_size = std::nullopt;
  std::optional<int64_t> eval_batch_size = std::nullopt;
  std::optional<int64_t> predict_batch_size = std::nullopt;
  bool eval_on_tpu = true;
  bool export_to_tpu = true;
  bool export_to_cpu = true;
  WarmStartSettings warm_start_from = {};
};

struct TrainOptions {
  // So many more steps, or up to this global step; not both. Without use_tpu both may be absent:
  // training ends with the input.
  std::optional<int64_t> steps = std::nullopt;
  std::optional<int64_t> max_steps = std::nullopt;
  HookList hooks = {};
  // Called around each checkpoint: CheckpointSaverListeners, or functions (session, global_step)
  // that are called after it.
  std::vector<SavingListener> saving_listeners = {};
  // Profiles some steps, into model_dir unless it says otherwise.
  std::optional<ProfileOptions> profile = std::nullopt;
};

struct EvaluateOptions {
  // Batches. Absent: until the input ends.
  std::optional<int64_t> steps = std::nullopt;
  HookList hooks = {};
  std::string checkpoint_path = {};  // empty: the latest of model_dir that can be read
  std::string name = {};             // summaries are in model_dir/eval_<name>
};

// Predictions by 8-bit integers: docs/quantization.md.
struct QuantizedPredictOptions {
  // Examples with which the ranges of values are measured, as predict()'s; labels are ignored. A
  // few hundred are enough.
  InputFn calibration_input_fn = nullptr;
  int64_t batches = 16;  // of one replica, at most
  quantize::Options quantization = {};
  // A backend of the runtime. tpu_v1, the model of TPU v1, and cpu compute equal bits.
  std::string device = "tpu_v1";
};

struct PredictOptions {
  // The predictions to return; empty: all.
  std::vector<std::string> predict_keys = {};
  HookList hooks = {};
  std::string checkpoint_path = {};
  // false: the range iterates over batches; the last may be smaller. A model on one replica may
  // then also have predictions without the batch dimension, as they are.
  bool yield_single_examples = true;
  // The model is quantized before the first prediction. Errors of predict(), besides those of
  // quantize::quantize(): UNIMPLEMENTED for a model with a host_call and for hooks with fetches.
  std::optional<QuantizedPredictOptions> quantized = std::nullopt;
};

struct ExportSavedModelOptions {
  // Files to copy to the folders assets.extra, which nothing reads, and assets: path there -> file.
  std::map<std::string, std::string> assets_extra = {};
  std::map<std::string, std::string> assets = {};
  std::string checkpoint_path = {};  // empty: the latest of model_dir that can be read
  // The batch size of model.mlir, if the receiver's is unknown.
  int64_t mlir_batch_size = 1;
};

// Predictions in the order of the input, one for each example, computed on demand. Iteration may
// stop at any time. Keeps the model alive.
class PredictionRange {
 public:
  class Iterator {
   public:
    using value_type = Nest<Tensor>;
    using difference_type = std::ptrdiff_t;

    const Nest<Tensor>& operator*() const { return *current_; }
    const Nest<Tensor>* operator->() const { return &*current_; }
    Iterator& operator++();
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !current_.has_value(); }

   private:
    friend class PredictionRange;
    PredictionRange* range_ = nullptr;
    std::optional<Nest<Tensor>> current_;
  };

  // Continues at the next prediction: a range can be iterated once.
  Iterator begin();
  static std::default_sentinel_t end() { return {}; }

  // Returns the next prediction; nothing at the end.
  std::optional<Nest<Tensor>> next();

 private:
  friend class TPUEstimator;
  std::function<std::optional<Nest<Tensor>>()> next_;
};

// Not thread-safe. Only one process can train in a model_dir at a time.
class TPUEstimator {
 public:
  // Errors: INVALID_ARGUMENT, with TensorFlow's texts, for invalid options.
  explicit TPUEstimator(TPUEstimatorOptions options);
  ~TPUEstimator();
  TPUEstimator(TPUEstimator&&) noexcept;
  TPUEstimator& operator=(TPUEstimator&&) noexcept;

  // Trains, continuing from the latest checkpoint of model_dir if there is one. On SIGTERM, SIGINT
  // or SIGHUP it finishes the steps under way, saves and returns. The input_fn and hooks run on
  // another thread, one at a time (on the caller's if hang_timeout_secs is 0). An input that ended
  // is read from its start by the next call. Errors: those of the input, the model and the files;
  // INVALID_ARGUMENT for invalid steps, for an input without batches, and for a train_op that does
  // not change the global step; DEADLINE_EXCEEDED, here and below, for calls that hang
  // (TPUConfig::hang_timeout_secs).
  TPUEstimator& train(const InputFn& input_fn, const TrainOptions& options = {});

  // Returns metrics over the input, exact for any number of examples. Without a checkpoint it uses
  // warm_start_from. If the event file cannot be written it warns. Errors: NOT_FOUND when there is
  // neither; FAILED_PRECONDITION for a feature or label that makes the loss not finite; CANCELLED
  // after a SIGTERM, SIGINT or SIGHUP.
  Evaluation evaluate(const InputFn& input_fn, const EvaluateOptions& options = {});

  PredictionRange predict(const InputFn& input_fn, const PredictOptions& options = {});

  // Builds the model, without running it, and returns what a TPU would refuse and the memory of a
  // core that a step needs; with or without use_tpu. train() checks too, according to
  // TPUConfig::check. An invalid input is a violation. Errors: those of the input_fn and the
  // model_fn.
  CheckReport check(const InputFn& input_fn, Mode mode = Mode::train);
  // Asks Google's compiler too: check(input_fn, {.compile = "v3-8"}). Errors: also those of
  // tpu_check::compile(); FAILED_PRECONDITION for a model without a program of a step.
  CheckReport check(const InputFn& input_fn, const TPUCheckOptions& options);

  // Writes the model of PREDICT mode and the variables of a checkpoint as a SavedModel. Returns its
  // folder, export_dir_base/<seconds since the Unix epoch>, which appears only when complete. The
  // signatures are the spec's export_outputs, or "serving_default" with its predictions; a single
  // signature is also the default. params has no "batch_size": the model serves any. Errors:
  // NOT_FOUND when there is no checkpoint and no warm_start_from; INVALID_ARGUMENT for signatures
  // without names or a default; those of export_saved_model() of a session and of the files.
  std::string export_saved_model(const std::string& export_dir_base,
                                 const ServingInputReceiverFn& serving_input_receiver_fn,
                                 const ExportSavedModelOptions& options = {});
  // TensorFlow 1's name of export_saved_model().
  std::string export_savedmodel(const std::string& export_dir_base,
                                const ServingInputReceiverFn& serving_input_receiver_fn,
                                const ExportSavedModelOptions& options = {}) {
    return export_saved_model(export_dir_base, serving_input_receiver_fn, options);
  }

  const std::string& model_dir() const;
  const RunConfig& config() const;
  const Params& params() const;
  // The prefix of the newest checkpoint; "" if there is none.
  std::string latest_checkpoint() const;
  std::vector<std::string> get_variable_names() const;
  Tensor get_variable_value(const std::string& name) const;

  struct Impl;  // for the files of this folder

 protected:
  // For Estimator, whose params may have "batch_size".
  struct Plain {};
  TPUEstimator(TPUEstimatorOptions options, Plain);

 private:
  std::unique_ptr<Impl> impl_;
};

struct EstimatorOptions {
  ModelFn model_fn = nullptr;
  std::string model_dir = {};
  RunConfig config = {};
  Params params = {};
  WarmStartSettings warm_start_from = {};
};

// A TPUEstimator without a TPU. The input_fn chooses the batch size.
class Estimator : public TPUEstimator {
 public:
  explicit Estimator(EstimatorOptions options);
};

// -- Training with evaluations. (tf.estimator.train_and_evaluate)

struct TrainSpec {
  InputFn input_fn = nullptr;
  std::optional<int64_t> max_steps = std::nullopt;
  HookList hooks = {};
};
struct EvalSpec {
  InputFn input_fn = nullptr;
  std::optional<int64_t> steps = std::nullopt;  // batches; absent: until the input ends
  std::string name = {};
  HookList hooks = {};
  ExporterList exporters = {};
  double throttle_secs = 600;  // the least time between two evaluations
};
// Trains, and evaluates after checkpoints in the same process without building the model again.
// Returns the last evaluation; one without examples when training was already complete, or when a
// signal ended it before the first. The checkpoint with which a training begins is not evaluated.
// Errors: those of train(), evaluate() and the exporters; INVALID_ARGUMENT, before anything is
// trained, for steps and throttle_secs that cannot be, a missing input_fn, and exporters without a
// name or two of one name.
Evaluation train_and_evaluate(TPUEstimator& estimator, const TrainSpec& train_spec,
                              const EvalSpec& eval_spec);

}  // namespace systole
