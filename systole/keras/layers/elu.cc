#include "systole/graph/api/math_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/advanced_activations.h"

namespace systole::keras::layers {
namespace {

class EluLayer : public LayerOf<EluLayer, ELUOptions> {
 public:
  static constexpr std::string_view kClassName = "ELU";
  static std::vector<Field<ELUOptions>> fields() {
    using O = ELUOptions;
    return {field("alpha", &O::alpha)};
  }

  explicit EluLayer(ELUOptions options) : LayerOf(std::move(options)) {
    input_specs_ = {InputSpec{}};  // one, of any shape
  }

  MaskSupport mask_support() const override { return MaskSupport::pass; }
  std::vector<Output> call(CallContext&, const std::vector<Output>& inputs) override {
    const Output& x = inputs.at(0);
    const Output y = elu(x);
    return {options_.alpha == 1 ? y : where_v2(greater(x, 0.0F), y, y * options_.alpha)};
  }
};

}  // namespace

LayerClass elu_class() { return layer_class<EluLayer, ELUOptions>(); }

ELU::ELU(double alpha, ELUOptions options, Where where)
    : Layer([&] {
        options.alpha = alpha;
        return make_layer<EluLayer>(std::move(options), where);
      }()) {}

}  // namespace systole::keras::layers
