#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/core/axes.h"
#include "systole/graph/core/op_error.h"
#include "systole/keras/layers/merge_layer.h"

namespace systole::keras::layers {
namespace {

class DotLayer : public LayerOf<DotLayer, DotOptions> {
 public:
  static constexpr std::string_view kClassName = "Dot";
  static std::vector<Field<DotOptions>> fields() {
    return {required("axes", &DotOptions::axes), field("normalize", &DotOptions::normalize)};
  }

  explicit DotLayer(DotOptions options) : LayerOf(std::move(options)) {
    if (options_.axes.values.empty() || options_.axes.values.size() > 2) {
      throw invalid_argument(
          "Dot: `axes`, got a list of {}, expected an integer or a list of two elements",
          options_.axes.values.size());
    }
  }
  // The result has no mask.
  MaskSupport mask_support() const override { return MaskSupport::custom; }

  std::vector<Output> call(CallContext&, const std::vector<Output>& inputs) override {
    if (inputs.size() != 2) {
      throw invalid_argument("A `Dot` layer should be called on a list of 2 inputs, got {}",
                             inputs.size());
    }
    Output a = inputs[0];
    Output b = inputs[1];
    const int axis_a = axis_of(options_.axes.values.front(), a.shape());
    const int axis_b = axis_of(options_.axes.values.back(), b.shape());
    const int64_t size_a = a.shape()[axis_a];
    const int64_t size_b = b.shape()[axis_b];
    if (size_a >= 0 && size_b >= 0 && size_a != size_b) {
      throw invalid_argument("Dimension incompatibility {} != {}. Layer shapes: {}, {}", size_a,
                             size_b, sizes_text(a.shape()), sizes_text(b.shape()));
    }
    if (options_.normalize) {
      a = l2_normalize(a, axis_a);
      b = l2_normalize(b, axis_b);
    }
    const Output y = einsum(equation(a.shape().rank(), axis_a, b.shape().rank(), axis_b), {a, b});
    return {y.shape().rank() == 1 ? expand_dims(y, 1) : y};
  }

 private:
  int axis_of(int64_t given, const Shape& shape) const {
    const auto axis = static_cast<int>(
        with_op(name(), where(), [&] { return normalize_axis(given, shape.rank()); }));
    if (axis == 0) {
      throw invalid_argument("{}: axes, got the axis of the batch, expected an axis after it",
                             name());
    }
    return axis;
  }

  // Each axis has a letter: z the batch, y the axes that are summed over.
  static std::string equation(int rank_a, int axis_a, int rank_b, int axis_b) {
    std::string a = "z";
    std::string b = "z";
    std::string result = "z";
    char next = 'a';
    const auto name_axes = [&](std::string& text, int rank, int summed) {
      for (int axis = 1; axis < rank; ++axis) {
        const char letter = axis == summed ? 'y' : next++;
        text += letter;
        if (axis != summed) result += letter;
      }
    };
    name_axes(a, rank_a, axis_a);
    name_axes(b, rank_b, axis_b);
    return a + "," + b + "->" + result;
  }
};

}  // namespace

LayerClass dot_class() { return layer_class<DotLayer, DotOptions>(); }

Dot::Dot(AxisList axes, DotOptions options, Where where)
    : Layer([&] {
        options.axes = std::move(axes);
        return make_layer<DotLayer>(std::move(options), where);
      }()) {}

KerasTensors dot(const KerasTensors& inputs, AxisList axes, DotOptions options, Where where) {
  return Dot(std::move(axes), std::move(options), where)(inputs);
}

}  // namespace systole::keras::layers
