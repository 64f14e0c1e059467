#include "systole/graph/api/math_ops.h"
#include "systole/keras/layers/merge_layer.h"

namespace systole::keras::layers {
namespace {

class AverageLayer : public ElementwiseMerge<AverageLayer> {
 public:
  static constexpr std::string_view kClassName = "Average";
  using ElementwiseMerge::ElementwiseMerge;
  static Output merge(const std::vector<Output>& inputs) {
    Output total = inputs[0];
    for (size_t i = 1; i < inputs.size(); ++i) total = total + inputs[i];
    return total / static_cast<double>(inputs.size());
  }
};

}  // namespace

LayerClass average_class() { return layer_class<AverageLayer, MergeOptions>(); }

Average::Average(MergeOptions options, Where where)
    : Layer(make_layer<AverageLayer>(std::move(options), where)) {}

KerasTensors average(const KerasTensors& inputs, MergeOptions options, Where where) {
  return Average(std::move(options), where)(inputs);
}

}  // namespace systole::keras::layers
