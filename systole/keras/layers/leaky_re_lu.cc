#include "systole/graph/api/math_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/advanced_activations.h"

namespace systole::keras::layers {
namespace {

class LeakyReluLayer : public LayerOf<LeakyReluLayer, LeakyReLUOptions> {
 public:
  static constexpr std::string_view kClassName = "LeakyReLU";
  static std::vector<Field<LeakyReLUOptions>> fields() {
    using O = LeakyReLUOptions;
    return {field("alpha", &O::alpha)};
  }

  explicit LeakyReluLayer(LeakyReLUOptions options) : LayerOf(std::move(options)) {
    input_specs_ = {InputSpec{}};  // one, of any shape
  }

  MaskSupport mask_support() const override { return MaskSupport::pass; }
  std::vector<Output> call(CallContext&, const std::vector<Output>& inputs) override {
    return {leaky_relu(inputs.at(0), {.alpha = options_.alpha})};
  }
};

}  // namespace

LayerClass leaky_re_lu_class() { return layer_class<LeakyReluLayer, LeakyReLUOptions>(); }

LeakyReLU::LeakyReLU(double alpha, LeakyReLUOptions options, Where where)
    : Layer([&] {
        options.alpha = alpha;
        return make_layer<LeakyReluLayer>(std::move(options), where);
      }()) {}

}  // namespace systole::keras::layers
