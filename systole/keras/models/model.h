// Models: what users build, train and save. (tf.keras.Model, tf.keras.models.Sequential)
#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/keras/engine/layer.h"
#include "systole/keras/engine/network.h"
#include "systole/keras/models/file_options.h"
#include "systole/keras/training/fit_options.h"
#include "systole/keras/training/history.h"
#include "systole/keras/training/trainer.h"

namespace systole::keras {

struct ModelOptions {
  std::string name = {};
};

// The values of metrics_names. Converts to a number, the loss.
struct Scores {
  std::vector<std::string> names;
  std::vector<double> values;
  operator double() const { return values.at(0); }  // NOLINT(google-explicit-constructor)
  double operator[](size_t i) const { return values.at(i); }
  // Errors: NOT_FOUND with the names there are.
  double operator[](std::string_view name) const;
  // For literals: some compilers take scores["loss"] for a subscript of "loss" otherwise.
  template <size_t Size>
  double operator[](const char (&name)[Size]) const {
    return (*this)[std::string_view(name)];
  }
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
  KerasTensors input() const { return inputs(); }
  KerasTensors output() const { return outputs(); }
  // Number 0 are the model's own; calls of the model are numbered from 1.
  KerasTensors get_input_at(int node_index) const;
  KerasTensors get_output_at(int node_index) const;
  std::vector<std::string> input_names() const { return model()->input_names(); }
  std::vector<std::string> output_names() const { return model()->output_names(); }

  // Prints Keras's table to stdout, or gives each line to `print_fn`.
  void summary(const std::function<void(const std::string&)>& print_fn = nullptr) const;
  // The configuration with class name, as Keras writes it.
  std::string to_json() const;

  // Adds tensors that are computed from the model's inputs, with a value for each example, to the
  // loss: their mean over the examples. A model with added losses may be compiled without `.loss`
  // and trained without targets: fit(x). Errors: those of NetworkDefinition::add_loss().
  void add_loss(const KerasTensors& losses) const;
  // Chooses what is trained, and how. Recompiling keeps weights and drops the optimizer's state
  // unless it is the same optimizer. Errors: NOT_FOUND for unknown names; INVALID_ARGUMENT for
  // losses, weights and metrics of outputs that the model does not have.
  void compile(CompileOptions options) const;
  // The one that compile() got; its lr(), iterations() and weights() have the present values.
  // Errors: FAILED_PRECONDITION before compile().
  OptimizerSpec optimizer() const;
  // Trains. x, y: [examples, ...]. On SIGINT, SIGTERM or SIGHUP it ends after the steps under way,
  // without the validation, and returns the History of the complete epochs; a second signal ends
  // the process. Errors: FAILED_PRECONDITION `You must compile your model before using it.`;
  // INVALID_ARGUMENT for arrays that do not fit, with what was expected; those of callbacks.
  History fit(const ArrayList& x, const ArrayList& y, const FitOptions& options = {}) const;
  // Without targets: for a model whose losses are all of add_loss() or its layers.
  History fit(const ArrayList& x, const FitOptions& options = {}) const {
    return fit(x, ArrayList(), options);
  }
  // Trains on a generator, a Sequence, a data set of batches, or arrays. The next batches are read
  // on another thread while the device works.
  History fit(const FitInput& input, const FitOptions& options = {}) const;
  History fit_generator(const FitInput& input, const FitOptions& options = {}) const {
    return fit(input, options);
  }
  // Means over the examples. Errors: as fit(); CANCELLED after a signal, also of predict().
  Scores evaluate(const ArrayList& x, const ArrayList& y,
                  const EvaluateOptions& options = {}) const;
  Scores evaluate(const ArrayList& x, const EvaluateOptions& options = {}) const {
    return evaluate(x, ArrayList(), options);
  }
  // evaluate(x, y, 32): with a batch size.
  Scores evaluate(const ArrayList& x, const ArrayList& y, std::integral auto batch_size) const {
    return evaluate(x, y, {.batch_size = batch_size});
  }
  Scores evaluate(const FitInput& input, const EvaluateOptions& options = {}) const;
  Scores evaluate_generator(const FitInput& input, const EvaluateOptions& options = {}) const {
    return evaluate(input, options);
  }
  // The model's only output. Errors: INVALID_ARGUMENT when it has several.
  Tensor predict(const ArrayList& x, const PredictOptions& options = {}) const;
  // predict(x, 32): with a batch size.
  Tensor predict(const ArrayList& x, std::integral auto batch_size) const {
    return predict(x, {.batch_size = batch_size});
  }
  Tensor predict_generator(const FitInput& input, const PredictOptions& options = {}) const;
  // All outputs.
  std::vector<Tensor> predict_all(const ArrayList& x, const PredictOptions& options = {}) const;
  std::vector<Tensor> predict_all_generator(const FitInput& input,
                                            const PredictOptions& options = {}) const;
  // One step; the values before the update.
  Scores train_on_batch(const ArrayList& x, const ArrayList& y = {},
                        const ArrayList& sample_weight = {},
                        const std::map<int64_t, double>& class_weight = {}) const;
  Scores test_on_batch(const ArrayList& x, const ArrayList& y = {},
                       const ArrayList& sample_weight = {}) const;
  Tensor predict_on_batch(const ArrayList& x) const;
  std::vector<std::string> metrics_names() const;
  // Returns main(inputs) -> (outputs), the predictions for `batch_size` examples, with the weights
  // as constants: to quantize, to compile for another device. Errors: FAILED_PRECONDITION for a
  // model whose input shapes are not known; those of Trainer::inference_module().
  std::unique_ptr<hlo::Module> inference_module(int64_t batch_size) const;

  // Writes the model to one HDF5 file: see save_model() in files/saving.h.
  void save(const std::string& path, const SaveOptions& options = {}) const;
  // Writes the weights, as HDF5 for paths that end in .h5, .keras or .hdf5, else as a checkpoint.
  void save_weights(const std::string& path, const SaveWeightsOptions& options = {}) const;
  // Reads weights that save_weights(), save() or Keras wrote. In order: layers with weights are
  // paired, names are ignored. Says what was loaded; after an error nothing has changed. Errors:
  // INVALID_ARGUMENT with Keras's messages for weights of another model; NOT_FOUND; DATA_LOSS.
  LoadReport load_weights(const std::string& path, const LoadWeightsOptions& options = {}) const;

  // Where the programs of this model run from now on.
  void place(Placement placement) const;

  std::shared_ptr<ModelDefinition> model() const;
  // The programs of this handle. Errors: FAILED_PRECONDITION `You must compile your model before
  // using it.`
  Trainer& trainer() const;

 protected:
  // A handle on the same model whose programs run elsewhere.
  Model(const Model& model, Placement placement);
  // As trainer(); before compile(), with programs to predict only.
  std::shared_ptr<Trainer> trainer_or_bare() const;

 private:
  std::optional<Placement> placement_;  // nullopt: the model's own
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
