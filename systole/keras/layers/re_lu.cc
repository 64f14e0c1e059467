#include "systole/graph/api/math_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/advanced_activations.h"

namespace systole::keras::layers {
namespace {

class ReluLayer : public LayerOf<ReluLayer, ReLUOptions> {
 public:
  static constexpr std::string_view kClassName = "ReLU";
  static std::vector<Field<ReLUOptions>> fields() {
    using O = ReLUOptions;
    return {field("max_value", &O::max_value), field("negative_slope", &O::negative_slope),
            field("threshold", &O::threshold)};
  }

  explicit ReluLayer(ReLUOptions options) : LayerOf(std::move(options)) {
    input_specs_ = {InputSpec{}};  // one, of any shape
    if (options_.max_value && !(*options_.max_value >= 0)) {
      throw invalid_argument("max_value of Relu layer cannot be negative value: {}",
                             *options_.max_value);
    }
    if (!(options_.negative_slope >= 0)) {
      throw invalid_argument("negative_slope of Relu layer cannot be negative value: {}",
                             options_.negative_slope);
    }
  }

  MaskSupport mask_support() const override { return MaskSupport::pass; }
  std::vector<Output> call(CallContext&, const std::vector<Output>& inputs) override {
    const Output& x = inputs.at(0);
    const double threshold = options_.threshold;
    const Output above = threshold == 0 ? relu(x) : x * cast(greater(x, threshold), x.dtype());
    const Output y = options_.max_value ? minimum(above, *options_.max_value) : above;
    if (options_.negative_slope == 0) return {y};
    return {y - relu(threshold - x) * options_.negative_slope};
  }
};

}  // namespace

LayerClass re_lu_class() { return layer_class<ReluLayer, ReLUOptions>(); }

ReLU::ReLU(ReLUOptions options, Where where)
    : Layer(make_layer<ReluLayer>(std::move(options), where)) {}

ReLU::ReLU(double max_value, Where where) : ReLU(ReLUOptions{.max_value = max_value}, where) {}

}  // namespace systole::keras::layers
