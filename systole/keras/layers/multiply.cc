#include "systole/graph/api/math_ops.h"
#include "systole/keras/layers/merge_layer.h"

namespace systole::keras::layers {
namespace {

class MultiplyLayer : public ElementwiseMerge<MultiplyLayer> {
 public:
  static constexpr std::string_view kClassName = "Multiply";
  using ElementwiseMerge::ElementwiseMerge;
  static Output merge(const std::vector<Output>& inputs) {
    Output total = inputs[0];
    for (size_t i = 1; i < inputs.size(); ++i) total = total * inputs[i];
    return total;
  }
};

}  // namespace

LayerClass multiply_class() { return layer_class<MultiplyLayer, MergeOptions>(); }

Multiply::Multiply(MergeOptions options, Where where)
    : Layer(make_layer<MultiplyLayer>(std::move(options), where)) {}

KerasTensors multiply(const KerasTensors& inputs, MergeOptions options, Where where) {
  return Multiply(std::move(options), where)(inputs);
}

}  // namespace systole::keras::layers
