#include "systole/graph/api/math_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/advanced_activations.h"

namespace systole::keras::layers {
namespace {

class ThresholdedReluLayer : public LayerOf<ThresholdedReluLayer, ThresholdedReLUOptions> {
 public:
  static constexpr std::string_view kClassName = "ThresholdedReLU";
  static std::vector<Field<ThresholdedReLUOptions>> fields() {
    using O = ThresholdedReLUOptions;
    return {field("theta", &O::theta)};
  }

  explicit ThresholdedReluLayer(ThresholdedReLUOptions options) : LayerOf(std::move(options)) {
    input_specs_ = {InputSpec{}};  // one, of any shape
  }

  MaskSupport mask_support() const override { return MaskSupport::pass; }
  std::vector<Output> call(CallContext&, const std::vector<Output>& inputs) override {
    const Output& x = inputs.at(0);
    return {x * cast(greater(x, options_.theta), x.dtype())};
  }
};

}  // namespace

LayerClass thresholded_re_lu_class() {
  return layer_class<ThresholdedReluLayer, ThresholdedReLUOptions>();
}

ThresholdedReLU::ThresholdedReLU(double theta, ThresholdedReLUOptions options, Where where)
    : Layer([&] {
        options.theta = theta;
        return make_layer<ThresholdedReluLayer>(std::move(options), where);
      }()) {}

}  // namespace systole::keras::layers
