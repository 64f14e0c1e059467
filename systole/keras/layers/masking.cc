#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/core.h"

namespace systole::keras::layers {
namespace {

class MaskingLayer : public LayerOf<MaskingLayer, MaskingOptions> {
 public:
  static constexpr std::string_view kClassName = "Masking";
  static std::vector<Field<MaskingOptions>> fields() {
    using O = MaskingOptions;
    return {field("mask_value", &O::mask_value)};
  }

  explicit MaskingLayer(MaskingOptions options) : LayerOf(std::move(options)) {
    input_specs_ = {InputSpec{}};  // one, of any shape
  }
  MaskSupport mask_support() const override { return MaskSupport::custom; }
  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const Output& x = inputs.at(0);
    const Output mask = reduce_any(not_equal(x, options_.mask_value), {.axis = -1});
    const Output y = x * cast(expand_dims(mask, -1), x.dtype());
    context.set_mask(y, mask);
    return {y};
  }
};

}  // namespace

LayerClass masking_class() { return layer_class<MaskingLayer, MaskingOptions>(); }

Masking::Masking(double mask_value, MaskingOptions options, Where where)
    : Layer([&] {
        options.mask_value = mask_value;
        return make_layer<MaskingLayer>(std::move(options), where);
      }()) {}

}  // namespace systole::keras::layers
