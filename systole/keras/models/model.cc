#include "systole/keras/models/model.h"

#include <utility>

#include "systole/base/error.h"
#include "systole/base/suggest.h"
#include "systole/keras/training/fit.h"

namespace systole::keras {
namespace {

std::shared_ptr<ModelDefinition> named(std::shared_ptr<ModelDefinition> model,
                                       const std::string& name) {
  model->set_name(name.empty() ? unique_layer_name(model->class_name()) : name);
  return model;
}

const NetworkDefinition& network_of(const Model& model, std::string_view what) {
  const auto* network = dynamic_cast<const NetworkDefinition*>(model.definition().get());
  if (network == nullptr) {
    throw make_error(Code::failed_precondition,
                     "{}: model '{}' is a subclass, expected a Sequential or functional model",
                     what, model.name());
  }
  return *network;
}

}  // namespace

double Scores::operator[](std::string_view name) const {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return values[i];
  }
  throw not_found("no score '{}'{}", name, did_you_mean(name, names));
}

Model::Model(KerasTensors inputs, KerasTensors outputs, const ModelOptions& options)
    : Layer(named(std::make_shared<NetworkDefinition>(std::move(inputs), std::move(outputs)),
                  options.name)) {}

Model::Model(const std::shared_ptr<ModelDefinition>& definition)
    : Layer(definition->name().empty() ? named(definition, "") : definition) {}

std::shared_ptr<ModelDefinition> Model::model() const {
  return std::static_pointer_cast<ModelDefinition>(definition());
}

Layer Model::get_layer(std::string_view name) const {
  std::vector<std::string> names;
  for (const Layer& layer : layers()) {
    if (layer.name() == name) return layer;
    names.push_back(layer.name());
  }
  throw not_found("No such layer: {}{}", name, did_you_mean(name, names));
}

Layer Model::get_layer(int64_t index) const {
  const std::vector<Layer> all = layers();
  const int64_t at = index < 0 ? index + static_cast<int64_t>(all.size()) : index;
  if (at < 0 || at >= static_cast<int64_t>(all.size())) {
    throw make_error(Code::out_of_range,
                     "Was asked to retrieve layer at index {} but model only has {} layers.", index,
                     all.size());
  }
  return all[static_cast<size_t>(at)];
}

KerasTensors Model::inputs() const { return network_of(*this, "inputs").inputs(); }
KerasTensors Model::outputs() const { return network_of(*this, "outputs").outputs(); }

void Model::compile(CompileOptions options) const {
  const Placement placement = model()->trainer ? model()->trainer->placement() : Placement{};
  model()->trainer = std::make_unique<Trainer>(*model(), std::move(options), placement);
}

void Model::place(Placement placement) const {
  CompileOptions options = model()->trainer ? model()->trainer->options() : CompileOptions{};
  model()->trainer = std::make_unique<Trainer>(*model(), std::move(options), std::move(placement));
}

History Model::fit(const ArrayList& x, const ArrayList& y, const FitOptions& options) const {
  compiled(*model());
  Arrays arrays = prepare_arrays(*model(), x.all(), &y.all(), options.sample_weight);
  std::optional<Arrays> validation;
  if (options.validation_data) {
    validation = prepare_arrays(*model(), options.validation_data->x, &options.validation_data->y,
                                options.validation_data->sample_weights);
  } else if (options.validation_split != 0) {
    auto [train, held_out] = split_arrays(arrays, options.validation_split);
    arrays = std::move(train);
    validation = std::move(held_out);
  }
  apply_class_weight(arrays, options.class_weight, output_names());
  return fit_arrays(*model(), arrays, validation, options);
}

Scores Model::evaluate(const ArrayList& x, const ArrayList& y,
                       const EvaluateOptions& options) const {
  compiled(*model());
  const Arrays arrays = prepare_arrays(*model(), x.all(), &y.all(), options.sample_weight);
  return evaluate_arrays(*model(), arrays, options.batch_size, options.verbose);
}

std::vector<Tensor> Model::predict_all(const ArrayList& x, const PredictOptions& options) const {
  const Arrays arrays = prepare_arrays(*model(), x.all(), nullptr, {});
  return predict_arrays(*model(), arrays, options.batch_size);
}

Tensor Model::predict(const ArrayList& x, const PredictOptions& options) const {
  std::vector<Tensor> outputs = predict_all(x, options);
  if (outputs.size() != 1) {
    throw invalid_argument("predict: the model has {} outputs, expected one: use predict_all()",
                           outputs.size());
  }
  return std::move(outputs[0]);
}

Scores Model::train_on_batch(const ArrayList& x, const ArrayList& y,
                             const std::vector<Tensor>& sample_weight) const {
  compiled(*model());
  const Arrays arrays = prepare_arrays(*model(), x.all(), &y.all(), sample_weight);
  const FitOptions options{.batch_size = arrays.examples(), .verbose = 0, .shuffle = false};
  const History history = fit_arrays(*model(), arrays, std::nullopt, options);
  Scores scores{.names = metrics_names(), .values = {}};
  for (const std::string& name : scores.names) {
    scores.values.push_back(history.history.at(name).at(0));
  }
  return scores;
}

Scores Model::test_on_batch(const ArrayList& x, const ArrayList& y,
                            const std::vector<Tensor>& sample_weight) const {
  compiled(*model());
  const Arrays arrays = prepare_arrays(*model(), x.all(), &y.all(), sample_weight);
  return evaluate_arrays(*model(), arrays, arrays.examples(), 0);
}

Tensor Model::predict_on_batch(const ArrayList& x) const {
  return predict(x, {.batch_size = x.all().empty() ? 1 : x.all()[0].dim(0)});
}

std::vector<std::string> Model::metrics_names() const { return compiled(*model()).metrics_names(); }

Sequential::Sequential(const ModelOptions& options)
    : Model(named(std::make_shared<SequentialDefinition>(), options.name)) {}

Sequential::Sequential(std::initializer_list<Layer> layers, const ModelOptions& options)
    : Sequential(options) {
  for (const Layer& layer : layers) add(layer);
}

void Sequential::add(const Layer& layer) const {
  std::static_pointer_cast<SequentialDefinition>(definition())->add(layer);
}

void Sequential::pop() const {
  std::static_pointer_cast<SequentialDefinition>(definition())->pop();
}

Tensor Sequential::predict_classes(const ArrayList& x, const PredictOptions& options) const {
  const Tensor p = predict(x, options);
  const int64_t classes = p.dim(p.shape().rank() - 1);
  const int64_t rows = p.num_elements() / classes;
  Tensor result(DType::s64, {rows});
  const std::span<const float> values = p.data<float>();
  for (int64_t r = 0; r < rows; ++r) {
    const auto row = values.subspan(static_cast<size_t>(r * classes), static_cast<size_t>(classes));
    result.data<int64_t>()[static_cast<size_t>(r)] =
        classes == 1 ? (row[0] > 0.5F ? 1 : 0)
                     : std::max_element(row.begin(), row.end()) - row.begin();
  }
  return result;
}

}  // namespace systole::keras
