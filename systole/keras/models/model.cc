#include "systole/keras/models/model.h"

#include <fmt/ranges.h>

#include <utility>

#include "systole/base/error.h"
#include "systole/base/suggest.h"

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
  throw not_found("no score '{}', expected one of {}{}", name, fmt::join(names, ", "),
                  did_you_mean(name, names));
}

Model::Model(KerasTensors inputs, KerasTensors outputs, const ModelOptions& options)
    : Layer(named(std::make_shared<NetworkDefinition>(std::move(inputs), std::move(outputs)),
                  options.name)) {}

Model::Model(const std::shared_ptr<ModelDefinition>& definition) : Layer(definition) {}

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
  return all[at];
}

KerasTensors Model::inputs() const { return network_of(*this, "inputs").inputs(); }
KerasTensors Model::outputs() const { return network_of(*this, "outputs").outputs(); }
void Model::add_loss(const KerasTensors& losses) const {
  network_of(*this, "add_loss");
  for (const KerasTensor& loss : losses) {
    std::static_pointer_cast<NetworkDefinition>(definition())->add_loss(loss);
  }
}
KerasTensors Model::get_input_at(int node_index) const {
  return node_index == 0 ? inputs() : Layer::get_input_at(node_index);
}
KerasTensors Model::get_output_at(int node_index) const {
  return node_index == 0 ? outputs() : Layer::get_output_at(node_index);
}

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
    result.data<int64_t>()[r] = classes == 1
                                    ? (row[0] > 0.5F ? 1 : 0)
                                    : std::max_element(row.begin(), row.end()) - row.begin();
  }
  return result;
}

}  // namespace systole::keras
