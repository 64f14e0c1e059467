// Models: what users build, train and save. (tf.keras.Model, tf.keras.models.Sequential)
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "systole/keras/layer.h"
#include "systole/keras/models/network.h"
#include "systole/keras/training/callback.h"
#include "systole/keras/training/history.h"
#include "systole/keras/training/trainer.h"

namespace systole::keras {

struct ModelOptions {
  std::string name = {};
};

struct FitOptions {
  int64_t batch_size = 32;  // of all replicas together
  int64_t epochs = 1;       // the index of the last epoch
  int verbose = 1;          // 0: silent, 1: a progress bar, 2: one line an epoch
  std::vector<CallbackPtr> callbacks = {};
  double validation_split = 0;  // the last part of the arrays, before they are shuffled
  std::optional<Arrays> validation_data = std::nullopt;
  bool shuffle = true;
  std::map<int64_t, double> class_weight = {};
  std::vector<Tensor> sample_weight = {};  // one an output
  int64_t initial_epoch = 0;
};
struct EvaluateOptions {
  int64_t batch_size = 32;
  int verbose = 1;
  std::vector<Tensor> sample_weight = {};
};
struct PredictOptions {
  int64_t batch_size = 32;
  int verbose = 0;
};

// One array, or one for each input or output.
class ArrayList {
 public:
  ArrayList() = default;
  ArrayList(Tensor one) : arrays_{std::move(one)} {}                     // NOLINT
  ArrayList(std::vector<Tensor> arrays) : arrays_(std::move(arrays)) {}  // NOLINT
  const std::vector<Tensor>& all() const { return arrays_; }

 private:
  std::vector<Tensor> arrays_;
};

// The values of metrics_names. Converts to a number, the loss.
struct Scores {
  std::vector<std::string> names;
  std::vector<double> values;
  operator double() const { return values.at(0); }  // NOLINT(google-explicit-constructor)
  double operator[](size_t i) const { return values.at(i); }
  // Errors: NOT_FOUND with the names there are.
  double operator[](std::string_view name) const;
};

// A handle on a model: copies mean the same model. Not thread-safe.
class Model : public Layer {
 public:
  // A functional model. Errors: those of NetworkDefinition.
  Model(KerasTensors inputs, KerasTensors outputs, const ModelOptions& options = {});
  // A model of the user's class.
  explicit Model(const std::shared_ptr<ModelDefinition>& definition);

  std::vector<Layer> layers() const { return model()->layers(); }
  // Errors: NOT_FOUND `No such layer: <name>`; OUT_OF_RANGE.
  Layer get_layer(std::string_view name) const;
  Layer get_layer(int64_t index) const;
  KerasTensors inputs() const;
  KerasTensors outputs() const;
  std::vector<std::string> input_names() const { return model()->input_names(); }
  std::vector<std::string> output_names() const { return model()->output_names(); }

  // Prints Keras's table to stdout, or gives each line to `print_fn`.
  void summary(const std::function<void(const std::string&)>& print_fn = nullptr) const;
  // The configuration with class name, as Keras writes it.
  std::string to_json() const;

  // Chooses what is trained, and how. Recompiling keeps weights and drops the optimizer's state
  // unless it is the same optimizer. Errors: NOT_FOUND for unknown names.
  void compile(CompileOptions options) const;
  // Trains. x, y: [examples, ...]. Errors: FAILED_PRECONDITION `You must compile your model before
  // using it.`; INVALID_ARGUMENT for arrays that do not fit, with what was expected.
  History fit(const ArrayList& x, const ArrayList& y, const FitOptions& options = {}) const;
  Scores evaluate(const ArrayList& x, const ArrayList& y,
                  const EvaluateOptions& options = {}) const;
  // The model's only output. Errors: INVALID_ARGUMENT when it has several.
  Tensor predict(const ArrayList& x, const PredictOptions& options = {}) const;
  std::vector<Tensor> predict_all(const ArrayList& x, const PredictOptions& options = {}) const;
  // One step; the values before the update.
  Scores train_on_batch(const ArrayList& x, const ArrayList& y,
                        const std::vector<Tensor>& sample_weight = {}) const;
  Scores test_on_batch(const ArrayList& x, const ArrayList& y,
                       const std::vector<Tensor>& sample_weight = {}) const;
  Tensor predict_on_batch(const ArrayList& x) const;
  std::vector<std::string> metrics_names() const;

  // Where the programs of this model run from now on.
  void place(Placement placement) const;

  std::shared_ptr<ModelDefinition> model() const;
};

class Sequential : public Model {
 public:
  explicit Sequential(const ModelOptions& options = {});
  Sequential(std::initializer_list<Layer> layers, const ModelOptions& options = {});
  explicit Sequential(const std::shared_ptr<SequentialDefinition>& definition)
      : Model(definition) {}

  void add(const Layer& layer) const;
  void pop() const;
  // The class of the largest output, or output > 0.5 for one unit: s64 [examples].
  Tensor predict_classes(const ArrayList& x, const PredictOptions& options = {}) const;
};

}  // namespace systole::keras
