#include "systole/graph/api/math_ops.h"
#include "systole/keras/layers/merge_layer.h"

namespace systole::keras::layers {
namespace {

class AddLayer : public ElementwiseMerge<AddLayer> {
 public:
  static constexpr std::string_view kClassName = "Add";
  using ElementwiseMerge::ElementwiseMerge;
  static Output merge(const std::vector<Output>& inputs) {
    Output total = inputs[0];
    for (size_t i = 1; i < inputs.size(); ++i) total = total + inputs[i];
    return total;
  }
};

}  // namespace

LayerClass add_class() { return layer_class<AddLayer, MergeOptions>(); }

Add::Add(MergeOptions options, Where where)
    : Layer(make_layer<AddLayer>(std::move(options), where)) {}

KerasTensors add(const KerasTensors& inputs, MergeOptions options, Where where) {
  return Add(std::move(options), where)(inputs);
}

}  // namespace systole::keras::layers
