#include <utility>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/recurrent_layer.h"
#include "systole/keras/layers/wrappers.h"

namespace systole::keras::layers {
namespace {

class BidirectionalLayer : public LayerOf<BidirectionalLayer, BidirectionalOptions> {
 public:
  static constexpr std::string_view kClassName = "Bidirectional";
  static std::vector<Field<BidirectionalOptions>> fields() {
    using O = BidirectionalOptions;
    return {field("merge_mode", &O::merge_mode), required("layer", &O::layer)};
  }

  explicit BidirectionalLayer(BidirectionalOptions options) : LayerOf(std::move(options)) {
    const std::string mode = merge_mode();
    if (mode != "concat" && mode != "sum" && mode != "mul" && mode != "ave" && !mode.empty()) {
      throw invalid_argument(
          "Invalid merge mode. Merge mode should be one of {{\"sum\", \"mul\", \"ave\", "
          "\"concat\", "
          "None}}, got \"{}\"",
          mode);
    }
    if (options_.layer) {
      forward_ = std::dynamic_pointer_cast<RecurrentLayer>(options_.layer->definition());
    }
    if (!forward_) {
      throw invalid_argument(
          "Please initialize `Bidirectional` layer with a recurrent layer. You passed: {}",
          options_.layer ? options_.layer->class_name() : "none");
    }
    layer_name_ = forward_->name();
    backward_ = forward_->reversed();
    backward_->set_name("backward_" + layer_name_);
    backward_->set_where(forward_->where());
    backward_->set_activity_regularizer_mean(forward_->activity_regularizer_mean());
    forward_->set_name("forward_" + layer_name_);
    input_specs_ = {{.ndim = 3}};
  }

  Json config() const override {
    Json json = LayerOf::config();
    json["layer"]["config"]["name"] = layer_name_;
    return json;
  }
  MaskSupport mask_support() const override { return MaskSupport::custom; }
  bool takes_initial_state() const override { return true; }
  std::vector<std::shared_ptr<LayerDefinition>> sublayers() const override {
    return {forward_, backward_};
  }

  void build(const std::vector<Shape>& input_shapes) override {
    forward_->ensure_built({input_shapes.at(0)});
    backward_->ensure_built({input_shapes.at(0)});
  }

  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    if (inputs.size() % 2 == 0) {
      throw invalid_argument(
          "When passing `initial_state` to a Bidirectional RNN, the state should be a list "
          "containing the states of the underlying RNNs. Found: {} states",
          inputs.size() - 1);
    }
    const auto middle = inputs.begin() + 1 + static_cast<std::ptrdiff_t>(inputs.size() / 2);
    std::vector<Output> forward_inputs(inputs.begin(), middle);
    std::vector<Output> backward_inputs(middle, inputs.end());
    backward_inputs.insert(backward_inputs.begin(), inputs[0]);
    const std::vector<Output> forward = forward_->apply(context, forward_inputs);
    std::vector<Output> backward = backward_->apply(context, backward_inputs);
    const bool sequences = forward_->recurrence().return_sequences;
    if (sequences) backward[0] = reverse(backward[0], 1);
    std::vector<Output> results = merged(forward[0], backward[0]);
    if (const Output mask = context.mask(inputs[0]); sequences && mask.valid()) {
      for (const Output& result : results) context.set_mask(result, mask);
    }
    results.insert(results.end(), forward.begin() + 1, forward.end());
    results.insert(results.end(), backward.begin() + 1, backward.end());
    return results;
  }

 private:
  // "" for none.
  std::string merge_mode() const { return options_.merge_mode.value_or(""); }

  std::vector<Output> merged(const Output& forward, const Output& backward) const {
    const std::string mode = merge_mode();
    if (mode == "concat") return {concat({forward, backward}, -1)};
    if (mode == "sum") return {forward + backward};
    if (mode == "mul") return {forward * backward};
    if (mode == "ave") return {(forward + backward) * 0.5F};
    return {identity(forward), identity(backward)};
  }

  std::string layer_name_;  // before it was renamed
  std::shared_ptr<RecurrentLayer> forward_;
  std::shared_ptr<RecurrentLayer> backward_;
};

}  // namespace

LayerClass bidirectional_class() {
  LayerClass made = layer_class<BidirectionalLayer, BidirectionalOptions>();
  made.from_config = [make = made.from_config](const Json& given) {
    Json config = given;
    const auto it = config.find("num_constants");  // of Keras 2.1
    if (it != config.end() && it->is_null()) config.erase(it);
    return make(config);
  };
  return made;
}

Bidirectional::Bidirectional(const Layer& layer, BidirectionalOptions options, Where where)
    : Layer([&] {
        options.layer = layer;
        return make_layer<BidirectionalLayer>(std::move(options), where);
      }()) {}

}  // namespace systole::keras::layers
