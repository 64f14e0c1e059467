#include "systole/graph/api/math_ops.h"
#include "systole/keras/layers/merge_layer.h"

namespace systole::keras::layers {
namespace {

class SubtractLayer : public ElementwiseMerge<SubtractLayer> {
 public:
  static constexpr std::string_view kClassName = "Subtract";
  using ElementwiseMerge::ElementwiseMerge;
  static Output merge(const std::vector<Output>& inputs) {
    if (inputs.size() != 2) {
      throw invalid_argument("A `Subtract` layer should be called on exactly 2 inputs, got {}",
                             inputs.size());
    }
    return inputs[0] - inputs[1];
  }
};

}  // namespace

LayerClass subtract_class() { return layer_class<SubtractLayer, MergeOptions>(); }

Subtract::Subtract(MergeOptions options, Where where)
    : Layer(make_layer<SubtractLayer>(std::move(options), where)) {}

KerasTensors subtract(const KerasTensors& inputs, MergeOptions options, Where where) {
  return Subtract(std::move(options), where)(inputs);
}

}  // namespace systole::keras::layers
