#include "systole/graph/api/math_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/advanced_activations.h"

namespace systole::keras::layers {
namespace {

class PReluLayer : public LayerOf<PReluLayer, PReLUOptions> {
 public:
  static constexpr std::string_view kClassName = "PReLU";
  static std::vector<Field<PReLUOptions>> fields() {
    using O = PReLUOptions;
    return {field("alpha_initializer", &O::alpha_initializer),
            field("alpha_regularizer", &O::alpha_regularizer),
            field("alpha_constraint", &O::alpha_constraint), field("shared_axes", &O::shared_axes)};
  }

  explicit PReluLayer(PReLUOptions options) : LayerOf(std::move(options)) {}

  MaskSupport mask_support() const override { return MaskSupport::pass; }
  void build(const std::vector<Shape>& input_shapes) override {
    const Shape& shape = input_shapes.at(0);
    Dims sizes(shape.begin() + 1, shape.end());
    for (const int64_t axis : options_.shared_axes.value_or(std::vector<int64_t>{})) {
      if (axis < 1 || axis >= shape.rank()) {
        throw invalid_argument("{}: shared_axes, got {}, expected axes from 1 to {}", name(), axis,
                               shape.rank() - 1);
      }
      sizes[axis - 1] = 1;
    }
    input_specs_ = {{.ndim = shape.rank()}};
    for (size_t i = 0; i < sizes.size(); ++i) {
      const auto axis = static_cast<int>(i) + 1;
      if (sizes[i] < 0) {
        throw invalid_argument(
            "{}: axis {} of the input, got an unknown size, expected a known one or the axis in "
            "shared_axes. Input shape: {}",
            name(), axis, sizes_text(shape));
      }
      if (sizes[i] == shape[axis]) input_specs_[0].axes.emplace_back(axis, sizes[i]);
    }
    alpha_ = add_weight("alpha", Shape(sizes),
                        {.initializer = options_.alpha_initializer.for_weight(),
                         .regularizer = options_.alpha_regularizer.function(),
                         .constraint = options_.alpha_constraint.function()});
  }

  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const Output& x = inputs.at(0);
    return {relu(x) - context.value(alpha_) * relu(negative(x))};
  }

 private:
  WeightPtr alpha_;
};

}  // namespace

LayerClass p_re_lu_class() { return layer_class<PReluLayer, PReLUOptions>(); }

PReLU::PReLU(PReLUOptions options, Where where)
    : Layer(make_layer<PReluLayer>(std::move(options), where)) {}

}  // namespace systole::keras::layers
