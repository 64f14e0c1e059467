#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/axes.h"
#include "systole/graph/core/op_error.h"
#include "systole/keras/layers/merge_layer.h"

namespace systole::keras::layers {
namespace {

class ConcatenateLayer : public LayerOf<ConcatenateLayer, ConcatenateOptions> {
 public:
  static constexpr std::string_view kClassName = "Concatenate";
  static std::vector<Field<ConcatenateOptions>> fields() {
    return {field("axis", &ConcatenateOptions::axis)};
  }

  explicit ConcatenateLayer(ConcatenateOptions options) : LayerOf(std::move(options)) {}
  MaskSupport mask_support() const override { return MaskSupport::custom; }
  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const int axis = checked_axis(inputs);
    const Output y = concat(inputs, axis);
    const Output mask = joined_mask(context, inputs, axis);
    if (mask.valid()) context.set_mask(y, mask);
    return {y};
  }

 private:
  int checked_axis(const std::vector<Output>& inputs) const {
    if (inputs.size() < 2) {
      throw invalid_argument(
          "A `Concatenate` layer should be called on a list of at least 2 inputs, got {}",
          inputs.size());
    }
    const Shape& first = inputs[0].shape();
    const auto axis = static_cast<int>(
        with_op(name(), where(), [&] { return normalize_axis(options_.axis, first.rank()); }));
    std::string texts;
    bool fits = true;
    for (const Output& input : inputs) {
      const Shape& shape = input.shape();
      texts += (texts.empty() ? "" : ", ") + sizes_text(shape);
      if (shape.rank() != first.rank()) {
        fits = false;
        continue;
      }
      for (int i = 0; i < first.rank(); ++i) {
        if (i != axis && first[i] >= 0 && shape[i] >= 0 && first[i] != shape[i]) fits = false;
      }
    }
    if (fits) return axis;
    throw invalid_argument(
        "A `Concatenate` layer requires inputs with matching shapes except for the concat axis. "
        "Got inputs shapes: [{}]",
        texts);
  }

  // Along an axis that masks have they are joined, otherwise combined with AND. An input without a
  // mask counts as not masked.
  static Output joined_mask(CallContext& context, const std::vector<Output>& inputs, int axis) {
    int rank = 0;
    for (const Output& input : inputs) {
      const Output mask = context.mask(input);
      if (mask.valid()) rank = std::max(rank, mask.shape().rank());
    }
    std::vector<Output> masks;
    for (const Output& input : inputs) {
      Output mask = context.mask(input);
      if (!mask.valid()) {
        Output part = equal(input, input);
        while (part.shape().rank() > rank) part = reduce_any(part, {.axis = -1});
        mask = ones_like(part);
      }
      masks.push_back(mask);
    }
    if (rank == 0) return {};
    if (axis < rank) return concat(masks, axis);
    Output all = masks[0];
    for (size_t i = 1; i < masks.size(); ++i) all = logical_and(all, masks[i]);
    return all;
  }
};

}  // namespace

LayerClass concatenate_class() { return layer_class<ConcatenateLayer, ConcatenateOptions>(); }

Concatenate::Concatenate(int64_t axis, ConcatenateOptions options, Where where)
    : Layer([&] {
        options.axis = axis;
        return make_layer<ConcatenateLayer>(std::move(options), where);
      }()) {}

KerasTensors concatenate(const KerasTensors& inputs, int64_t axis, ConcatenateOptions options,
                         Where where) {
  return Concatenate(axis, std::move(options), where)(inputs);
}

}  // namespace systole::keras::layers
