// Layers and the symbolic tensors between them. (tf.keras.layers.Layer)
//
//   auto x = st::keras::Input({784});
//   auto y = st::keras::layers::Dense(10, {.activation = "softmax"})(x);
//
// A layer is a handle: copies mean the same layer and share its weights. Nothing here is
// synchronised. Errors: INVALID_ARGUMENT `<layer name>: <what>, got <value>, expected <value>`,
// with the line on which the user made the layer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/keras/base/counters.h"
#include "systole/keras/base/json.h"
#include "systole/keras/engine/call_context.h"
#include "systole/keras/engine/weight.h"

namespace systole::keras {

class Layer;
class LayerDefinition;
struct LayerClass;

// One call of a layer on symbolic tensors: a node of a model's graph of layers.
struct LayerCall;

// What a layer returned when it was called on symbolic tensors: its type is known, its value is
// not. The first dimension is the batch, -1 when not fixed.
class KerasTensor {
 public:
  KerasTensor() = default;
  KerasTensor(std::shared_ptr<LayerCall> call, int index) : call_(std::move(call)), index_(index) {}

  bool valid() const { return call_ != nullptr; }
  const TensorType& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  // "dense/output:0"
  std::string name() const;
  const std::shared_ptr<LayerCall>& call() const { return call_; }
  int index() const { return index_; }

  friend bool operator==(const KerasTensor&, const KerasTensor&) = default;

 private:
  std::shared_ptr<LayerCall> call_;
  int index_ = 0;
};

// One symbolic tensor or several: what layers take and return.
class KerasTensors {
 public:
  KerasTensors() = default;
  KerasTensors(KerasTensor tensor) : tensors_{std::move(tensor)} {}  // NOLINT
  KerasTensors(std::vector<KerasTensor> tensors)                     // NOLINT
      : tensors_(std::move(tensors)) {}
  KerasTensors(std::initializer_list<KerasTensors> parts);

  size_t size() const { return tensors_.size(); }
  const KerasTensor& operator[](size_t i) const { return tensors_.at(i); }
  auto begin() const { return tensors_.begin(); }
  auto end() const { return tensors_.end(); }
  const std::vector<KerasTensor>& all() const { return tensors_; }
  // The only one. Errors: INVALID_ARGUMENT when there are several.
  const KerasTensor& only() const;
  operator const KerasTensor&() const { return only(); }  // NOLINT(google-explicit-constructor)
  const Shape& shape() const { return only().shape(); }

 private:
  std::vector<KerasTensor> tensors_;
};

struct LayerCall {
  std::shared_ptr<LayerDefinition> layer;
  std::vector<KerasTensor> inputs;
  std::optional<bool> training;  // in place of the program's learning phase
  CallArguments arguments;
  std::vector<TensorType> outputs;
  std::vector<std::optional<Shape>> mask_shapes;  // one an output; nullopt: no mask
  int node_index = 0;                             // among the calls of the layer
};

// The arguments of a layer's call() besides `training`, as Keras names them.
struct CallSignature {
  // Names of those that are tensors, in their order; empty: one tensor or a list of them.
  std::vector<std::string> tensors = {};
  // Whether the first is a list, so that all tensors that a call does not name belong to it.
  bool takes_list = false;
  std::vector<std::string> flags = {};
};

// The tensors of a call by the argument that they are, the first argument first; its name is ""
// where call() takes one tensor or a list of them.
std::vector<std::pair<std::string, std::vector<KerasTensor>>> tensors_by_argument(
    const LayerCall& call);

enum class MaskSupport : uint8_t {
  refuse,  // an input with a mask is an error
  pass,    // the outputs have the mask of the first input
  custom,  // call() reads and sets masks itself
};

// Requirements on an input, checked before each call.
struct InputSpec {
  int ndim = -1;  // with the batch; -1: any
  int min_ndim = -1;
  int max_ndim = -1;
  // (axis, size): negative axes count from the end.
  std::vector<std::pair<int, int64_t>> axes = {};
};

// Base of all layers. Derive from it to write one; docs/keras.md shows how.
class LayerDefinition : public std::enable_shared_from_this<LayerDefinition> {
 public:
  LayerDefinition() = default;
  virtual ~LayerDefinition();
  LayerDefinition(const LayerDefinition&) = delete;
  LayerDefinition& operator=(const LayerDefinition&) = delete;

  // "Dense": the name in configurations.
  virtual std::string class_name() const = 0;
  // Adds the weights, once, with the shapes of the first inputs.
  virtual void build(const std::vector<Shape>& input_shapes) { static_cast<void>(input_shapes); }
  // Adds ops to the current graph that compute the outputs. Takes weights from `context`.
  virtual std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) = 0;
  virtual MaskSupport mask_support() const { return MaskSupport::refuse; }
  // Layers inside this one, whose weights count as its own.
  virtual std::vector<std::shared_ptr<LayerDefinition>> sublayers() const { return {}; }
  // The constructor's arguments. Errors: UNIMPLEMENTED when the layer cannot be saved.
  virtual Json config() const;
  // The type of a placeholder for the layer's first input; the dtype of ids for Embedding.
  virtual DType input_dtype() const { return DType::f32; }
  // What call() takes; CallContext::arguments() has what a call passed.
  virtual CallSignature call_signature() const { return {}; }
  // The attribute of Keras's class that holds a layer inside this one, which files name it by. "":
  // they name it by its class or its number.
  virtual std::string attribute_of(const LayerDefinition& sublayer) const {
    static_cast<void>(sublayer);
    return "";
  }
  // Whether initial states may follow the first input.
  virtual bool takes_initial_state() const { return false; }

  // Whether the layer, or one inside it, keeps states from one batch to the next.
  virtual bool stateful() const;
  // The states that it keeps: for each batch size that it was called with. Not among weights().
  virtual std::vector<WeightPtr> states() const;
  // Sets the states, to zero for all batch sizes when `values` is empty. Errors:
  // FAILED_PRECONDITION `Layer must be stateful.`; INVALID_ARGUMENT for values of another number or
  // shape, and for values of a layer with layers inside.
  virtual void reset_states(const std::vector<Tensor>& values);

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  bool trainable() const { return trainable_; }
  // Also of the layers inside. Takes effect when a model is compiled.
  virtual void set_trainable(bool trainable);
  bool built() const { return built_; }
  // With the batch dimension; nullopt when not given.
  const std::optional<Shape>& batch_input_shape() const { return batch_input_shape_; }
  void set_batch_input_shape(std::optional<Shape> shape) { batch_input_shape_ = std::move(shape); }
  const SourceLocation& where() const { return where_; }
  void set_where(SourceLocation where) { where_ = where; }
  // Values of weights() that build() makes, in place of those of the initializers. Errors of
  // ensure_built(): those of Layer::set_weights.
  void set_initial_weights(std::vector<Tensor> values) { initial_weights_ = std::move(values); }
  const RegularizerFn& activity_regularizer() const { return activity_regularizer_; }
  void set_activity_regularizer(RegularizerFn fn) { activity_regularizer_ = std::move(fn); }
  // Whether the penalty on an output is divided by its first size, the batch: from TensorFlow 1.13
  // on. Layers of files have what the file's version says.
  bool activity_regularizer_mean() const { return activity_regularizer_mean_; }
  void set_activity_regularizer_mean(bool mean) { activity_regularizer_mean_ = mean; }

  // Trainable ones first, then the others, each in the order of creation; with sublayers.
  std::vector<WeightPtr> weights() const;
  std::vector<WeightPtr> trainable_weights() const;
  std::vector<WeightPtr> non_trainable_weights() const;
  // Names of weights(), in their order, as Keras's files have them: "lstm/kernel:0",
  // "bidirectional/forward_lstm/kernel:0"; a name that is taken gets a number.
  std::vector<std::string> weight_names() const;
  // Weights that this layer itself added.
  const std::vector<WeightPtr>& own_weights() const { return own_weights_; }

  // Checks the inputs, builds the layer if need be, calls it and propagates masks.
  std::vector<Output> apply(CallContext& context, const std::vector<Output>& inputs);
  void ensure_built(const std::vector<Shape>& input_shapes);
  // Numbers a symbolic call and keeps it in `calls`.
  void record_call(const std::shared_ptr<LayerCall>& call);

  // The number of symbolic calls so far.
  int num_calls = 0;
  // The calls that a model or a KerasTensor still holds.
  std::vector<std::weak_ptr<LayerCall>> calls;

 protected:
  WeightPtr add_weight(std::string name, Shape shape, WeightOptions options);
  // What the names of a sublayer's weights begin with, where this layer's begin with `scope`.
  virtual std::string sublayer_scope(const std::string& scope,
                                     const LayerDefinition& sublayer) const {
    return scope + sublayer.name() + "/";
  }
  // Requirements on input i, in order; set by build() or the constructor.
  std::vector<InputSpec> input_specs_;

 private:
  void add_weight_names(const std::string& scope,
                        std::unordered_map<const Weight*, std::string>& names) const;
  void check_inputs(const std::vector<Output>& inputs) const;
  void propagate_mask(CallContext& context, const std::vector<Output>& inputs,
                      const std::vector<Output>& outputs) const;

  std::string name_;
  bool trainable_ = true;
  bool built_ = false;
  std::optional<Shape> batch_input_shape_;
  SourceLocation where_;
  RegularizerFn activity_regularizer_;
  bool activity_regularizer_mean_ = false;
  std::vector<WeightPtr> own_weights_;
  std::vector<Tensor> initial_weights_;
};

struct CallOptions {
  std::optional<bool> training = std::nullopt;
  // For a recurrent layer: the states before the first step, in place of zeros.
  KerasTensors initial_state = {};
  // For a layer whose call() takes more (CallSignature).
  CallArguments arguments = {};
};

// A handle on a layer.
class Layer {
 public:
  // Names a layer that has no name yet, by its class: "scale", "scale_1". Errors: INVALID_ARGUMENT
  // for a null pointer.
  explicit Layer(std::shared_ptr<LayerDefinition> definition);

  // Calls the layer on symbolic tensors. Errors: INVALID_ARGUMENT for an initial_state where the
  // layer is not recurrent, and for arguments that its call() does not have.
  KerasTensors operator()(const KerasTensors& inputs, const CallOptions& options = {}) const;

  // What the layer's only call took and returned: Model(model.input(),
  // model.get_layer("features").output()). Errors: FAILED_PRECONDITION `Layer x has no inbound
  // nodes`; `Layer x has multiple inbound nodes, ...`, for which the other two take a number.
  KerasTensors input() const;
  KerasTensors output() const;
  // Errors: OUT_OF_RANGE for the number of a call that there is not.
  KerasTensors get_input_at(int node_index) const;
  KerasTensors get_output_at(int node_index) const;

  const std::string& name() const { return definition_->name(); }
  std::string class_name() const { return definition_->class_name(); }
  bool trainable() const { return definition_->trainable(); }
  void set_trainable(bool trainable) const { definition_->set_trainable(trainable); }
  std::vector<WeightPtr> weights() const { return definition_->weights(); }
  // Copies of the values. Errors: FAILED_PRECONDITION when the layer has not been built.
  std::vector<Tensor> get_weights() const;
  // Errors: INVALID_ARGUMENT for another number of arrays or other shapes; nothing has changed
  // then.
  void set_weights(const std::vector<Tensor>& values) const;
  // See LayerDefinition::reset_states. Of a model: those of all its layers.
  void reset_states(const std::vector<Tensor>& values = {}) const {
    definition_->reset_states(values);
  }
  int64_t count_params() const;
  Json get_config() const;
  const std::shared_ptr<LayerDefinition>& definition() const { return definition_; }

  friend bool operator==(const Layer& a, const Layer& b) { return a.definition_ == b.definition_; }

 private:
  std::shared_ptr<LayerDefinition> definition_;
};

struct InputOptions {
  int64_t batch_size = -1;
  std::string name = {};
  DType dtype = DType::f32;
};
// An input of a functional model; `shape` without the batch. (tf.keras.Input)
// NOLINTNEXTLINE(readability-identifier-naming): the name of Keras.
KerasTensor Input(const Shape& shape, const InputOptions& options = {});

// A shape in errors, as Python prints a tuple: "(None, 4)", "(4,)".
std::string sizes_text(const Shape& shape);

}  // namespace systole::keras
