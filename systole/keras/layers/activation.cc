#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/core.h"

namespace systole::keras::layers {
namespace {

class ActivationFunctionLayer : public LayerOf<ActivationFunctionLayer, ActivationOptions> {
 public:
  static constexpr std::string_view kClassName = "Activation";
  static std::vector<Field<ActivationOptions>> fields() {
    using O = ActivationOptions;
    return {required("activation", &O::activation)};
  }

  explicit ActivationFunctionLayer(ActivationOptions options) : LayerOf(std::move(options)) {
    input_specs_ = {InputSpec{}};  // one, of any shape
  }
  MaskSupport mask_support() const override { return MaskSupport::pass; }
  std::vector<Output> call(CallContext&, const std::vector<Output>& inputs) override {
    return {options_.activation(inputs.at(0))};
  }
};

}  // namespace

LayerClass activation_class() { return layer_class<ActivationFunctionLayer, ActivationOptions>(); }

ActivationLayer::ActivationLayer(keras::Activation activation, ActivationOptions options,
                                 Where where)
    : Layer([&] {
        options.activation = std::move(activation);
        return make_layer<ActivationFunctionLayer>(std::move(options), where);
      }()) {}

}  // namespace systole::keras::layers
