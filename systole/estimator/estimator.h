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
// What differs from TensorFlow, and why, is in docs/migrating.md.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "systole/data/dataset.h"
#include "systole/estimator/check/check_report.h"
#include "systole/estimator/config.h"
#include "systole/estimator/modes/evaluation.h"
#include "systole/estimator/modes/exporters.h"
#include "systole/estimator/modes/serving.h"
#include "systole/estimator/params.h"
#include "systole/estimator/spec.h"
#include "systole/estimator/tpu_context.h"

namespace systole {

// Builds the model of one replica in the current graph, from its part of a batch. `labels` is empty
// when the input has none. params: the user's, and "batch_size" (of a replica), "use_tpu", and with
// a TPU "context", a TPUContext.
using ModelFn = std::function<TPUEstimatorSpec(
    const Nest<Output>& features, const Nest<Output>& labels, Mode mode, const Params& params)>;

// What an input_fn returns: a data set of (features, labels) or of features, or what get_next() of
// an iterator gave, taken apart: {features, labels}.
class InputFnResult {
 public:
  InputFnResult(Dataset dataset) : dataset_(std::move(dataset)) {}  // NOLINT
  InputFnResult(Nest<Output> features)                              // NOLINT
      : features_(std::move(features)) {}
  InputFnResult(Nest<Output> features, Nest<Output> labels)
      : features_(std::move(features)), labels_(std::move(labels)) {}
  InputFnResult(std::pair<Output, Output> features_and_labels)  // NOLINT
      : features_(features_and_labels.first), labels_(features_and_labels.second) {}

  // Its elements: (features, labels), or features alone. Errors: those of dataset_of().
  Dataset dataset() const;

 private:
  Dataset dataset_;
  Nest<Output> features_;
  Nest<Output> labels_;
};
// params: the user's, "batch_size" as the InputPipelineConfig says, and with a TPU "context", a
// TPUContext. Called once a train(), evaluate() or predict() (PER_SHARD_V1: once a replica).
using InputFn = std::function<InputFnResult(const Params& params)>;

// Where variables begin when there is no checkpoint in model_dir.
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
  std::string model_dir = {};  // config.model_dir when empty
  RunConfig config = {};
  Params params = {};  // "batch_size" and "context" are reserved
  bool use_tpu = true;
  // Over all replicas. train_batch_size is needed with use_tpu, the others when they are used.
  std::optional<int64_t> train_batch_size = std::nullopt;
  std::optional<int64_t> eval_batch_size = std::nullopt;
  std::optional<int64_t> predict_batch_size = std::nullopt;
  bool eval_on_tpu = true;
  bool export_to_tpu = true;
  bool export_to_cpu = true;
  WarmStartSettings warm_start_from = {};
};

struct TrainOptions {
  // One of the two: that many more, or up to that global step. Without use_tpu both may be absent:
  // training ends with the input.
  std::optional<int64_t> steps = std::nullopt;
  std::optional<int64_t> max_steps = std::nullopt;
  HookList hooks = {};
  // Called around each checkpoint: CheckpointSaverListeners, or functions (session, global_step)
  // that are called after it.
  std::vector<SavingListener> saving_listeners = {};
};

struct EvaluateOptions {
  // Batches; absent: all of the input, once.
  std::optional<int64_t> steps = std::nullopt;
  HookList hooks = {};
  std::string checkpoint_path = {};  // the latest of model_dir when empty
  std::string name = {};             // summaries go to eval_<name>
};

struct PredictOptions {
  // Only these of the predictions; all when empty.
  std::vector<std::string> predict_keys = {};
  HookList hooks = {};
  std::string checkpoint_path = {};
  // false: a batch at a time (the last may be smaller).
  bool yield_single_examples = true;
};

struct ExportSavedModelOptions {
  // Files for the folder assets.extra, which nothing reads, and for assets: the path there, and
  // where the file is now.
  std::map<std::string, std::string> assets_extra = {};
  std::map<std::string, std::string> assets = {};
  std::string checkpoint_path = {};  // the latest of model_dir when empty
  // model.mlir is made for this many examples where the receiver leaves the number open.
  int64_t mlir_batch_size = 1;
};

// Predictions, made as they are asked for; in the order of the input, one an example. Can be left
// at any time. Holds on to its estimator's model.
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

  // Goes on where the range stands: a range is run through once.
  Iterator begin();
  static std::default_sentinel_t end() { return {}; }

  // The next prediction; nothing at the end.
  std::optional<Nest<Tensor>> next();

 private:
  friend class TPUEstimator;
  std::function<std::optional<Nest<Tensor>>()> next_;
};

// Not synchronised: one call at a time. Two processes cannot train in one model_dir.
class TPUEstimator {
 public:
  // Errors: INVALID_ARGUMENT with TensorFlow's texts for options that cannot be.
  explicit TPUEstimator(TPUEstimatorOptions options);
  ~TPUEstimator();
  TPUEstimator(TPUEstimator&&) noexcept;
  TPUEstimator& operator=(TPUEstimator&&) noexcept;

  // Trains from the latest checkpoint of model_dir on, if there is one. A SIGTERM or SIGINT ends
  // the loop that runs, saves, and returns. The input_fn and hooks are called one after the other,
  // on other threads than the caller's (on its own with a hang_timeout_secs of 0).
  // Errors: those of the input, the model and the files; INVALID_ARGUMENT for steps that cannot be;
  // DEADLINE_EXCEEDED, here and below, for what hangs (TPUConfig::hang_timeout_secs).
  TPUEstimator& train(const InputFn& input_fn, const TrainOptions& options = {});

  // Metrics over the input, exact over any number of examples. Errors: NOT_FOUND when there is no
  // checkpoint; CANCELLED when a SIGTERM or SIGINT came, which ends it behind the loop that runs.
  Evaluation evaluate(const InputFn& input_fn, const EvaluateOptions& options = {});

  PredictionRange predict(const InputFn& input_fn, const PredictOptions& options = {});

  // Builds the model and says, before anything runs, what a TPU would refuse of it and how much of
  // a core's memory a step takes; with or without use_tpu. train() does the same, as
  // TPUConfig::check says. Errors: those of the input_fn and the model_fn; an input that cannot be
  // is a violation.
  CheckReport check(const InputFn& input_fn, Mode mode = Mode::train);

  // Writes the model of PREDICT mode with the variables of a checkpoint as a SavedModel, and
  // returns its folder: export_dir_base/<seconds since the Unix epoch>, there complete or not at
  // all. Signatures are the spec's export_outputs, or "serving_default" of its predictions; one
  // alone is the default, whatever it is called. params has no "batch_size": any number is served.
  // Errors: NOT_FOUND when there is no checkpoint; INVALID_ARGUMENT for signatures without names or
  // a default; those of export_saved_model() of a session and of the files.
  std::string export_saved_model(const std::string& export_dir_base,
                                 const ServingInputReceiverFn& serving_input_receiver_fn,
                                 const ExportSavedModelOptions& options = {});
  // TensorFlow 1's name of it.
  std::string export_savedmodel(const std::string& export_dir_base,
                                const ServingInputReceiverFn& serving_input_receiver_fn,
                                const ExportSavedModelOptions& options = {}) {
    return export_saved_model(export_dir_base, serving_input_receiver_fn, options);
  }

  const std::string& model_dir() const;
  const RunConfig& config() const;
  const Params& params() const;
  // The prefix of the newest checkpoint, "" when there is none.
  std::string latest_checkpoint() const;
  std::vector<std::string> get_variable_names() const;
  Tensor get_variable_value(const std::string& name) const;

  struct Impl;  // for the files of this folder

 protected:
  // As tf.estimator.Estimator: params may hold "batch_size".
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

// The same without a TPU: the batch size is the input_fn's own affair.
class Estimator : public TPUEstimator {
 public:
  explicit Estimator(EstimatorOptions options);
};

// -- Training and evaluating in turn. (tf.estimator.train_and_evaluate)

struct TrainSpec {
  InputFn input_fn = nullptr;
  std::optional<int64_t> max_steps = std::nullopt;
  HookList hooks = {};
};
struct EvalSpec {
  InputFn input_fn = nullptr;
  std::optional<int64_t> steps = std::nullopt;  // absent: all of the input
  std::string name = {};
  HookList hooks = {};
  ExporterList exporters = {};
  double throttle_secs = 600;  // at least between two evaluations
};
// Trains, and evaluates after checkpoints in the same process without building the model again.
// Returns the last evaluation; one without examples when training was already complete, or when a
// signal ended it before the first. Errors: those of train(), evaluate() and the exporters;
// INVALID_ARGUMENT for two exporters of one name.
Evaluation train_and_evaluate(TPUEstimator& estimator, const TrainSpec& train_spec,
                              const EvalSpec& eval_spec);

}  // namespace systole
