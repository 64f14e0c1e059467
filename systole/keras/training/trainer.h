// The device side of a compiled model: its programs to train, test and predict, and the values of
// its weights while a device has them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/keras/engine/network.h"
#include "systole/keras/training/compile_options.h"
#include "systole/keras/training/train_op.h"
#include "systole/runtime/process_group.h"
#include "systole/session/session.h"
#include "systole/session/step_loop.h"
#include "systole/train/loop/train_step.h"

namespace systole::keras {

// Where programs run: a session's target and the number of replicas (cores).
struct Placement {
  std::string target = {};
  int64_t replicas = 1;
};

enum class Phase : uint8_t { train, test, predict };

// A program's inputs for K steps: [replicas, K, batch, ...] each, in the order x, y, sample
// weights, example mask.
class Trainer : public WeightHolder {
 public:
  // `model` outlives it. `trainable`: null to collect it when the first program is made.
  Trainer(ModelDefinition& model, CompileOptions options, Placement placement,
          std::shared_ptr<const CollectedTrainable> trainable = nullptr);
  ~Trainer() override;

  const CompileOptions& options() const { return options_; }
  const Placement& placement() const { return placement_; }
  const std::shared_ptr<const CollectedTrainable>& trainable() const { return trainable_; }
  // "loss", then those of outputs and metrics, as Keras orders them. Known after prepare() of train
  // or test.
  const std::vector<std::string>& metrics_names() const { return metrics_names_; }

  // Which of them are metrics as objects: their values are those of all steps since
  // reset_metrics().
  const std::vector<bool>& running_metrics() const { return running_metrics_; }
  // Starts metrics as objects anew. Call it before the first run, after prepare().
  void reset_metrics();

  struct BatchShape {
    std::vector<TensorType> x;  // of one replica's batch
    std::vector<TensorType> y;
    std::vector<TensorType> weights;  // of samples; empty without
    int64_t max_steps = 1;
  };
  // The processes that run a phase together, each with as many replicas: those that a launcher has
  // started, to train and to test. Null: this one alone.
  static runtime::ProcessGroup* processes(Phase phase);
  // The replicas of all of them.
  int64_t all_replicas(Phase phase) const;
  // The parts of this process of stacks for all replicas.
  std::vector<Tensor> own_parts(Phase phase, std::vector<Tensor> stacks) const;
  // Gives all processes the weights and the random state of the first. The first run() does it.
  // REQUIRES: the program that trains, or the only one, is prepared.
  void share_weights();

  // Compiles the program of a phase for batches of these types, or finds it. Errors: of several
  // processes INVALID_ARGUMENT on all for programs that differ.
  StepLoop& prepare(Phase phase, const BatchShape& shape);
  // Runs it. Results: of train and test f32 [steps, replicas, values]; of predict the outputs
  // [steps, replicas, batch, ...].
  std::span<const Tensor> run(Phase phase, const BatchShape& shape, std::span<const Tensor> inputs,
                              int64_t steps);

  // The program that trains or tests, for a diagnosis of its batches. REQUIRES: it is prepared.
  train::TrainStep step_of(Phase phase, const BatchShape& shape) const;

  // The predictions for batches of these types as a program, with the weights as constants. Errors:
  // INVALID_ARGUMENT for a model with states; those of inference_program().
  std::unique_ptr<hlo::Module> inference_module(const std::vector<TensorType>& x);

  void release_weights() override;

  // For checkpoints: a variable for each weight that a program uses, of the model under its path
  // ("dense/kernel"), of the optimizer below "optimizer/"; then the sums of metrics as objects.
  Session& session() { return *session_; }
  std::vector<Variable> variables() const;
  // Gives variables the values of weights that were changed on the host.
  void upload();
  // Tells the weights that the session's variables have their newest values.
  void hold_weights();
  const Graph& graph() const { return graph_; }
  // Programs compiled so far.
  size_t num_programs() const { return programs_.size(); }

 private:
  struct Program {
    std::vector<Output> inputs;
    std::vector<Output> fetches;
    Output loss;  // not of Phase::predict
    std::vector<Operation> targets;
    std::vector<WeightPtr> updated;
    std::unique_ptr<StepLoop> loop;
  };

  Program build(Phase phase, const BatchShape& shape);
  // Adds the program's operations; `loss`: invalid where it does not train.
  void add_targets(Program& program, CallContext& context, const Output& loss);
  // The value of a metric as an object: the sums over all steps, divided by the number of replicas.
  // Adds to the sums.
  Output running_value(Program& program, const std::string& name, const Output& sum,
                       const Output& weight, int64_t replicas);

  ModelDefinition& model_;
  CompileOptions options_;
  Placement placement_;
  std::shared_ptr<const CollectedTrainable> trainable_;
  std::vector<std::string> metrics_names_;
  std::vector<bool> running_metrics_;
  std::map<std::string, std::pair<Variable, Variable>> metric_sums_;  // total and count, by name
  Graph graph_;
  std::unique_ptr<Session> session_;
  WeightBindings weights_;
  // For each weight of weights_, the version of the value that the session has.
  std::vector<uint64_t> versions_;
  size_t num_shared_ = 0;  // of weights_, by share_weights()
  std::map<std::string, Program> programs_;
};

}  // namespace systole::keras
