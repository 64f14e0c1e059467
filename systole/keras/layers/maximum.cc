#include "systole/graph/api/math_ops.h"
#include "systole/keras/layers/merge_layer.h"

namespace systole::keras::layers {
namespace {

class MaximumLayer : public ElementwiseMerge<MaximumLayer> {
 public:
  static constexpr std::string_view kClassName = "Maximum";
  using ElementwiseMerge::ElementwiseMerge;
  static Output merge(const std::vector<Output>& inputs) {
    Output total = inputs[0];
    for (size_t i = 1; i < inputs.size(); ++i) total = systole::maximum(total, inputs[i]);
    return total;
  }
};

}  // namespace

LayerClass maximum_class() { return layer_class<MaximumLayer, MergeOptions>(); }

Maximum::Maximum(MergeOptions options, Where where)
    : Layer(make_layer<MaximumLayer>(std::move(options), where)) {}

KerasTensors maximum(const KerasTensors& inputs, MergeOptions options, Where where) {
  return Maximum(std::move(options), where)(inputs);
}

}  // namespace systole::keras::layers
