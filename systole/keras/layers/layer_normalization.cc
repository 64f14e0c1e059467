#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/op_error.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/normalization.h"

namespace systole::keras::layers {
namespace {

class LayerNormalizationLayer : public LayerOf<LayerNormalizationLayer, LayerNormalizationOptions> {
 public:
  static constexpr std::string_view kClassName = "LayerNormalization";
  static std::vector<Field<LayerNormalizationOptions>> fields() {
    using O = LayerNormalizationOptions;
    return {field("axis", &O::axis),
            field("epsilon", &O::epsilon),
            field("center", &O::center),
            field("scale", &O::scale),
            field("beta_initializer", &O::beta_initializer),
            field("gamma_initializer", &O::gamma_initializer),
            field("beta_regularizer", &O::beta_regularizer),
            field("gamma_regularizer", &O::gamma_regularizer),
            field("beta_constraint", &O::beta_constraint),
            field("gamma_constraint", &O::gamma_constraint)};
  }

  explicit LayerNormalizationLayer(LayerNormalizationOptions options)
      : LayerOf(std::move(options)) {}

  MaskSupport mask_support() const override { return MaskSupport::pass; }

  void build(const std::vector<Shape>& input_shapes) override {
    const Shape& shape = input_shapes.at(0);
    axes_ = with_op(name(), where(), [&] { return options_.axis.of_rank(shape.rank()); });
    along_.assign(static_cast<size_t>(shape.rank()), 1);
    input_specs_ = {{.ndim = shape.rank()}};
    Dims sizes;
    for (const int64_t axis : axes_) {
      const int64_t size = shape[static_cast<int>(axis)];
      if (size < 0) {
        throw invalid_argument(
            "{}: axis {} of the input, got an unknown size, expected a known one. Input shape: {}",
            name(), axis, sizes_text(shape));
      }
      sizes.push_back(size);
      along_[axis] = size;
      input_specs_[0].axes.emplace_back(static_cast<int>(axis), size);
    }
    if (options_.scale) {
      gamma_ = add_weight("gamma", Shape(sizes),
                          {.initializer = options_.gamma_initializer.for_weight(),
                           .regularizer = options_.gamma_regularizer.function(),
                           .constraint = options_.gamma_constraint.function()});
    }
    if (options_.center) {
      beta_ = add_weight("beta", Shape(sizes),
                         {.initializer = options_.beta_initializer.for_weight(),
                          .regularizer = options_.beta_regularizer.function(),
                          .constraint = options_.beta_constraint.function()});
    }
  }

  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const Output& x = inputs.at(0);
    const ReduceOptions over{.axis = axes_, .keepdims = true};
    const Output centred = x - reduce_mean(x, over);
    Output y = centred * rsqrt(reduce_mean(square(centred), over) + options_.epsilon);
    if (gamma_) y = y * reshape(context.value(gamma_), along_);
    if (beta_) y = y + reshape(context.value(beta_), along_);
    return {y};
  }

 private:
  WeightPtr gamma_;
  WeightPtr beta_;
  Dims axes_;
  std::vector<int64_t> along_;  // the input's sizes along the axes, 1 elsewhere
};

}  // namespace

LayerClass layer_normalization_class() {
  return layer_class<LayerNormalizationLayer, LayerNormalizationOptions>();
}

LayerNormalization::LayerNormalization(LayerNormalizationOptions options, Where where)
    : Layer(make_layer<LayerNormalizationLayer>(std::move(options), where)) {}

}  // namespace systole::keras::layers
