#include "systole/graph/api/math_ops.h"
#include "systole/keras/layers/merge_layer.h"

namespace systole::keras::layers {
namespace {

class MinimumLayer : public ElementwiseMerge<MinimumLayer> {
 public:
  static constexpr std::string_view kClassName = "Minimum";
  using ElementwiseMerge::ElementwiseMerge;
  static Output merge(const std::vector<Output>& inputs) {
    Output total = inputs[0];
    for (size_t i = 1; i < inputs.size(); ++i) total = systole::minimum(total, inputs[i]);
    return total;
  }
};

}  // namespace

LayerClass minimum_class() { return layer_class<MinimumLayer, MergeOptions>(); }

Minimum::Minimum(MergeOptions options, Where where)
    : Layer(make_layer<MinimumLayer>(std::move(options), where)) {}

KerasTensors minimum(const KerasTensors& inputs, MergeOptions options, Where where) {
  return Minimum(std::move(options), where)(inputs);
}

}  // namespace systole::keras::layers
