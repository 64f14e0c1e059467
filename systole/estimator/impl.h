// The implementation of TPUEstimator. Internal to this folder.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "systole/estimator/estimator.h"
#include "systole/estimator/model.h"
#include "systole/train/loop/step_runner.h"

namespace systole {

namespace estimator {

// A model that evaluates or predicts, with its session and programs.
struct BuiltModel {
  Model model;
  std::unique_ptr<Session> session;
  std::string random_state;     // of the session, initially
  Operation initialize_locals;  // resets the sums of metrics
  std::optional<train::StepRunner> runner;
  std::string key;  // equal for models that differ only in the values of variables
};

}  // namespace estimator

struct TPUEstimator::Impl {
  // The name in errors of the time that a call may take.
  static constexpr const char* kHangOption = "TPUConfig.hang_timeout_secs";

  Impl(TPUEstimatorOptions given, bool plain_estimator);
  ~Impl();

  // Where a mode runs.
  struct Place {
    std::string target;
    int64_t replicas = 1;  // of this process
    bool use_tpu = false;
    int64_t core_memory = 0;  // bytes; 0: unlimited
    // The processes that the mode runs on together, each with as many replicas; null: this one.
    runtime::ProcessGroup* processes = nullptr;

    int64_t hosts() const { return processes == nullptr ? 1 : processes->size(); }
    int64_t host() const { return processes == nullptr ? 0 : processes->rank(); }
    int64_t all_replicas() const { return replicas * hosts(); }
  };
  const Place& place(Mode mode);

  // What a mode asks of its input.
  estimator::InputOptions input_options(Mode mode);
  estimator::Input make_input(const InputFn& input_fn, Mode mode);
  estimator::Model trace(const estimator::Input& input, Mode mode);
  // Returns a session of the model's graph, with local variables initialised.
  std::unique_ptr<Session> make_session(const estimator::Model& model, const std::string& target);
  // Returns a model to evaluate or predict with; its global variables must be set. Reuses the last
  // model of the mode, with its programs, if the model_fn builds the same graph again, the last one
  // is not in use, and there are no hooks that may add to the graph.
  std::shared_ptr<estimator::BuiltModel> build(const estimator::Input& input, Mode mode,
                                               const HookList& hooks);
  // The seed of unseeded random ops: tf_random_seed, if given.
  std::optional<uint64_t> entropy() const;
  // Calls the model's scaffold_fn, if any, with its graph current.
  static Scaffold ask_scaffold(const estimator::Model& model);
  // The given checkpoint, or the latest of model_dir if `given` is empty; "" when there is none and
  // the model warm-starts. Errors: NOT_FOUND when there is neither.
  std::string checkpoint_for(const std::string& given) const;
  // The errors of checkpoint_for(), on rank 0 of the mode: before a model is built.
  void require_checkpoint(const std::string& given, Mode mode);
  // Sets the model's global variables from the given checkpoint or, if `given` is empty, from the
  // latest of model_dir that can be read, or to their first values without one. Errors: those of
  // Saver::restore and Saver::restore_latest.
  void restore(const estimator::Model& model, Session& session, const std::string& given) const;
  // The same on rank 0, whose values all processes of the mode get.
  void shared_restore(const estimator::Model& model, Session& session, const std::string& given,
                      Mode mode);
  void warm_start(const estimator::Model& model, Session& session) const;
  // First values of the model's global variables: initialisers, warm start, init_fn.
  void initialize(const estimator::Model& model, Session& session, const Scaffold& scaffold) const;
  // What the config asks of programs.
  runtime::ProgramOptions program_options() const {
    return {.bf16_products = config.tpu_config.precision == Precision::tpu};
  }
  // What the config says; 2 on a TPU by default, absent elsewhere.
  std::optional<IterationsPerLoop> iterations_per_loop();

  // Applies config.tpu_config.check: throws, warns or does nothing.
  void check(const estimator::Model& model, Mode mode);
  CheckReport check(const InputFn& input_fn, Mode mode);

  void train(const InputFn& input_fn, const TrainOptions& options);
  Evaluation evaluate(const InputFn& input_fn, const EvaluateOptions& options);
  PredictionRange predict(const InputFn& input_fn, const PredictOptions& options);
  std::string export_saved_model(const std::string& export_dir_base,
                                 const ServingInputReceiverFn& receiver_fn,
                                 const ExportSavedModelOptions& given);

  TPUEstimatorOptions options;
  RunConfig config;
  bool plain = false;
  bool temporary = false;  // model_dir is removed with the estimator
  std::map<std::string, Place> places;
  std::map<Mode, std::shared_ptr<estimator::BuiltModel>> built;  // the last model of each mode
};

}  // namespace systole
