// What TPUEstimator is made of. Internal to this folder.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "systole/data/feed/step_feed.h"
#include "systole/estimator/estimator.h"
#include "systole/estimator/model.h"
#include "systole/session/step_loop.h"

namespace systole {

namespace estimator {

// StepLoops of a model by the types of a replica's batch: one where all batches have one size.
class Runner {
 public:
  struct Options {
    std::vector<Output> fetches = {};
    std::vector<Operation> targets = {};
    int64_t replicas = 1;
    int64_t max_steps = 1;
    StepLoopOptions::Keep keep = StepLoopOptions::Keep::last;
    std::vector<Variable> summed = {};
    Precision precision = Precision::full;
  };
  // The session and the model outlive it.
  Runner(const Model& model, Session& session, Options options)
      : model_(model), session_(session), options_(std::move(options)) {}

  // Begins to compile for batches of these types, beside what the caller does until run().
  // Errors: those of a StepLoop.
  void prepare(const std::vector<TensorType>& types);
  // Results as StepLoop::results() has them. `profile`: adds up there what each operation took.
  std::span<const Tensor> run(const data::StackedSteps& input,
                              std::vector<runtime::StepProfile>* profile = nullptr);
  const Options& options() const { return options_; }

 private:
  std::unique_ptr<StepLoop> make_loop(const std::vector<TensorType>& types, bool profile,
                                      bool compile_beside) const;

  const Model& model_;
  Session& session_;
  const Options options_;
  std::map<std::string, std::unique_ptr<StepLoop>> loops_;
};

// A model that evaluates or predicts, with all that is made of it.
struct BuiltModel {
  Model model;
  std::unique_ptr<Session> session;
  std::string random_state;     // of the session when it was new
  Operation initialize_locals;  // what metrics have added up
  std::optional<Runner> runner;
  std::string key;  // equal for models that are the same but for their variables' values
};

// How many steps' input may be in memory at once: `wanted`, or what fits in 256 MiB.
int64_t launch_steps(int64_t wanted, int64_t step_bytes);

}  // namespace estimator

struct TPUEstimator::Impl {
  Impl(TPUEstimatorOptions given, bool plain_estimator);
  ~Impl();

  // Where a mode runs, and on how many replicas.
  struct Place {
    std::string target;
    int64_t replicas = 1;
    bool use_tpu = false;
    int64_t core_memory = 0;  // bytes; 0: not limited
  };
  const Place& place(Mode mode);

  estimator::Input make_input(const InputFn& input_fn, Mode mode);
  estimator::Model trace(const estimator::Input& input, Mode mode);
  // Its local variables have their initial values.
  std::unique_ptr<Session> make_session(const estimator::Model& model, const std::string& target);
  // A model to evaluate or predict with, its global variables without values or with any: the last
  // one of the mode, with its programs, when the model_fn builds the same again, nobody uses it any
  // more, and no hooks may add to its graph.
  std::shared_ptr<estimator::BuiltModel> build(const estimator::Input& input, Mode mode,
                                               const HookList& hooks);
  // What random numbers come from that have no seed: tf_random_seed where it is given.
  std::optional<uint64_t> entropy() const;
  // The checkpoint to evaluate or predict with. Errors: NOT_FOUND when there is none.
  std::string checkpoint_for(const std::string& given) const;
  // Sets the model's global variables from the checkpoint.
  void restore(const estimator::Model& model, Session& session, const std::string& prefix) const;
  void warm_start(const estimator::Model& model, Session& session) const;

  // Refuses, or warns of, what config.tpu_config.check says.
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
  bool temporary = false;  // model_dir is ours to remove
  std::map<std::string, Place> places;
  std::map<Mode, std::shared_ptr<estimator::BuiltModel>> built;  // the last of each
};

}  // namespace systole
