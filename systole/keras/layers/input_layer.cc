#include "systole/keras/engine/layer_class.h"

namespace systole::keras {
namespace {

struct InputLayerOptions {
  std::string name = {};
  bool trainable = true;
  DType dtype = DType::f32;
  InputShape batch_input_shape = std::nullopt;
};

// Stands for an input of a model; passes a value through where it is called.
class InputLayer : public LayerOf<InputLayer, InputLayerOptions> {
 public:
  static constexpr std::string_view kClassName = "InputLayer";
  static std::vector<Field<InputLayerOptions>> fields() { return {}; }
  explicit InputLayer(InputLayerOptions options) : LayerOf(std::move(options)) {}

  MaskSupport mask_support() const override { return MaskSupport::pass; }
  DType input_dtype() const override { return options_.dtype; }
  std::vector<Output> call(CallContext&, const std::vector<Output>& inputs) override {
    return inputs;
  }
  Json config() const override {
    Json json = common_config(*this);
    json["dtype"] = std::string(dtype_info(options_.dtype).tf_name);
    json["sparse"] = false;
    json.erase("trainable");
    return json;
  }
};

}  // namespace

namespace layers {
LayerClass input_layer_class() {
  LayerClass made = layer_class<InputLayer, InputLayerOptions>();
  made.from_config = [](const Json& given) -> std::shared_ptr<LayerDefinition> {
    Json config = given;
    InputLayerOptions options;
    if (const auto it = config.find("dtype"); it != config.end() && it->is_string()) {
      options.dtype = dtype_from_tf(it->get<std::string>());
    }
    const CommonArguments common = take_common_arguments(config);
    auto layer = std::make_shared<InputLayer>(options);
    apply_common(*layer, common);
    return layer;
  };
  return made;
}
}  // namespace layers

KerasTensor Input(const Shape& shape, const InputOptions& options) {
  const Shape with = with_batch(options.batch_size, shape);
  auto call = std::make_shared<LayerCall>();
  InputLayerOptions layer{.dtype = options.dtype, .batch_input_shape = with};
  // Keras counts inputs from 1.
  if (options.name.empty()) {
    const std::string unique = unique_layer_name("Input");
    layer.name =
        unique == "input" ? "input_1" : "input_" + std::to_string(std::stoi(unique.substr(6)) + 1);
  } else {
    layer.name = options.name;
  }
  call->layer = make_layer<InputLayer>(std::move(layer), {});
  call->outputs = {{options.dtype, with}};
  call->mask_shapes = {std::nullopt};
  call->layer->record_call(call);
  return {std::move(call), 0};
}

}  // namespace systole::keras
