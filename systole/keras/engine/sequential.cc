#include <utility>

#include "systole/base/error.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/engine/network.h"

namespace systole::keras {

void SequentialDefinition::add(const Layer& layer) {
  stack_.push_back(layer);
  try {
    if (network_) {
      const KerasTensors next = layer(outputs());
      if (next.size() != 1) {
        throw invalid_argument(
            "All layers in a Sequential model should have a single output tensor. For "
            "multi-output layers, use the functional API. Layer {} has {}",
            layer.name(), next.size());
      }
      set_network(inputs(), next);
    } else {
      connect_if_known();
    }
  } catch (...) {
    stack_.pop_back();
    throw;
  }
}

void SequentialDefinition::pop() {
  if (stack_.empty()) {
    throw make_error(Code::failed_precondition, "There are no layers in the model.");
  }
  stack_.pop_back();
  network_ = false;
  data_shape_.reset();
  connect_if_known();
}

// The first layer may tell the input's shape.
void SequentialDefinition::connect_if_known() {
  if (stack_.empty()) return;
  const LayerDefinition& first = *stack_[0].definition();
  const auto* model = dynamic_cast<const ModelDefinition*>(&first);
  if (first.class_name() == "InputLayer") {
    if (stack_.size() == 1 || !first.batch_input_shape()) return;
  }
  if (first.batch_input_shape()) {
    const Shape& shape = *first.batch_input_shape();
    Dims dims(shape.begin() + 1, shape.end());
    connect(Input(
        Shape(std::move(dims)),
        {.batch_size = shape[0], .name = first.name() + "_input", .dtype = first.input_dtype()}));
  } else if (model != nullptr && !model->input_types().empty()) {
    const TensorType type = model->input_types().at(0);
    Dims dims(type.shape.begin() + 1, type.shape.end());
    connect(
        Input(Shape(std::move(dims)),
              {.batch_size = type.shape[0], .name = first.name() + "_input", .dtype = type.dtype}));
  }
}

void SequentialDefinition::connect(const KerasTensor& input) {
  KerasTensors x = input;
  for (const Layer& layer : stack_) {
    if (layer.class_name() != "InputLayer") x = layer(x);
  }
  set_network(input, x);
  network_ = true;
}

void SequentialDefinition::build(const std::vector<Shape>& input_shapes) {
  if (!network_) build_for({{DType::f32, input_shapes.at(0)}});
}

void SequentialDefinition::build_for(const std::vector<TensorType>& inputs) {
  if (network_ || stack_.empty()) return;
  Dims dims(inputs.at(0).shape.begin() + 1, inputs.at(0).shape.end());
  const KerasTensor input = Input(
      Shape(std::move(dims)), {.name = stack_[0].name() + "_input", .dtype = inputs.at(0).dtype});
  connect(input);
  data_shape_ = input.shape();
}

std::vector<Output> SequentialDefinition::call(CallContext& context,
                                               const std::vector<Output>& inputs) {
  if (stack_.empty()) {
    throw make_error(Code::failed_precondition, "Sequential model {}: no layers, expected add()",
                     name());
  }
  return NetworkDefinition::call(context, inputs);
}

std::vector<TensorType> SequentialDefinition::input_types() const {
  return network_ ? NetworkDefinition::input_types() : std::vector<TensorType>{};
}

Json SequentialDefinition::config() const {
  Json layers = Json::array();
  for (const Layer& layer : stack_) {
    layers.push_back(layer_to_json(*layer.definition()));
  }
  Json json = {{"name", name()}, {"layers", std::move(layers)}};
  if (!data_shape_) return json;
  // Keras 2.2.4 and TensorFlow 1.13 read the input shape from `build_input_shape`, other versions
  // from the first layer.
  const Json shape = shape_to_json(*data_shape_);
  if (dynamic_cast<const ModelDefinition*>(stack_[0].definition().get()) == nullptr) {
    json["layers"][0]["config"]["batch_input_shape"] = shape;
  }
  json["build_input_shape"] = shape;
  return json;
}

}  // namespace systole::keras
