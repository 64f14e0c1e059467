// Models as layers: a graph of layer calls, a stack of layers, or a user's class.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "systole/keras/engine/layer.h"

namespace systole::keras {

class Trainer;

// Base of all models. Derive from it for a model with a call() of its own.
class ModelDefinition : public LayerDefinition {
 public:
  // The layers, in Keras's order.
  virtual std::vector<Layer> layers() const = 0;
  std::vector<std::shared_ptr<LayerDefinition>> sublayers() const override;
  // Types of the inputs, with a batch of -1; empty while not known.
  virtual std::vector<TensorType> input_types() const { return {}; }
  virtual std::vector<std::string> input_names() const { return {}; }
  virtual std::vector<std::string> output_names() const { return {"output_1"}; }
  virtual bool is_sequential() const { return false; }
  virtual bool is_graph_network() const { return false; }
  // Makes the layers for inputs of these types where the model was not given any.
  virtual void build_for(const std::vector<TensorType>& inputs) { static_cast<void>(inputs); }

  // What compile() made; null before.
  std::shared_ptr<Trainer> trainer;
  // The trainers of handles with a placement of their own (keras/tpu), by placement. They share
  // weights, the optimizer and the compile options with `trainer`.
  std::map<std::string, std::shared_ptr<Trainer>> placed_trainers;

 protected:
  // A model's layers are named by themselves.
  std::string sublayer_scope(const std::string&, const LayerDefinition& layer) const override {
    return layer.name() + "/";
  }
};

// A functional model. (tf.keras.Model(inputs, outputs))
class NetworkDefinition : public ModelDefinition {
 public:
  // Errors: INVALID_ARGUMENT `Graph disconnected: ...`; `The name "x" is used 2 times in the
  // model.`
  NetworkDefinition(KerasTensors inputs, KerasTensors outputs);

  // Keras numbers the calls of a model from 1: its node 0 leads from its own inputs to its outputs.
  static constexpr int kFirstCall = 1;

  std::string class_name() const override { return "Model"; }
  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override;
  MaskSupport mask_support() const override { return MaskSupport::custom; }
  std::vector<Layer> layers() const override;
  std::vector<TensorType> input_types() const override;
  std::vector<std::string> input_names() const override;
  std::vector<std::string> output_names() const override;
  bool is_graph_network() const override { return true; }
  Json config() const override;

  // Adds the mean of `loss` over the examples to what is trained. It is computed from the inputs,
  // and has a value for each example, or is their mean. Not in config(), as in Keras. Errors:
  // INVALID_ARGUMENT `Graph disconnected: ...`; when a program is built, for another scalar.
  void add_loss(const KerasTensor& loss);

  const KerasTensors& inputs() const { return inputs_; }
  const KerasTensors& outputs() const { return outputs_; }
  // The calls of the network, each after those it reads.
  const std::vector<std::shared_ptr<LayerCall>>& calls() const { return calls_; }

 protected:
  NetworkDefinition() { num_calls = kFirstCall; }
  void set_network(KerasTensors inputs, KerasTensors outputs);

 private:
  void find_calls();
  void order_layers();
  void check_names() const;

  KerasTensors inputs_;
  KerasTensors outputs_;
  std::vector<std::shared_ptr<LayerCall>> calls_;
  std::vector<Layer> layers_;
  std::vector<KerasTensor> losses_;  // of add_loss()
};

// A stack of layers. (tf.keras.models.Sequential)
class SequentialDefinition : public NetworkDefinition {
 public:
  std::string class_name() const override { return "Sequential"; }
  // Errors: INVALID_ARGUMENT for a layer with several outputs.
  void add(const Layer& layer);
  // Errors: FAILED_PRECONDITION when there is none.
  void pop();

  void build(const std::vector<Shape>& input_shapes) override;
  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override;
  std::vector<Layer> layers() const override { return stack_; }
  std::vector<TensorType> input_types() const override;
  bool is_sequential() const override { return true; }
  void build_for(const std::vector<TensorType>& inputs) override;
  Json config() const override;

 private:
  void connect(const KerasTensor& input);
  void connect_if_known();

  std::vector<Layer> stack_;
  bool network_ = false;  // whether the input's shape, and so all layers' shapes, are known
  std::optional<Shape> data_shape_;  // with the batch; of a model whose first layer has no shape
};

}  // namespace systole::keras
