#include "systole/graph/api/nn_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/advanced_activations.h"

namespace systole::keras::layers {
namespace {

class SoftmaxLayer : public LayerOf<SoftmaxLayer, SoftmaxOptions> {
 public:
  static constexpr std::string_view kClassName = "Softmax";
  static std::vector<Field<SoftmaxOptions>> fields() {
    using O = SoftmaxOptions;
    return {field("axis", &O::axis)};
  }

  explicit SoftmaxLayer(SoftmaxOptions options) : LayerOf(std::move(options)) {
    input_specs_ = {InputSpec{}};  // one, of any shape
  }

  MaskSupport mask_support() const override { return MaskSupport::pass; }
  std::vector<Output> call(CallContext&, const std::vector<Output>& inputs) override {
    return {softmax(inputs.at(0), {.axis = options_.axis})};
  }
};

}  // namespace

LayerClass softmax_class() { return layer_class<SoftmaxLayer, SoftmaxOptions>(); }

Softmax::Softmax(int64_t axis, SoftmaxOptions options, Where where)
    : Layer([&] {
        options.axis = axis;
        return make_layer<SoftmaxLayer>(std::move(options), where);
      }()) {}

}  // namespace systole::keras::layers
