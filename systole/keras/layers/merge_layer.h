// What layers that combine tensors elementwise have in common.
#pragma once

#include <string_view>
#include <vector>

#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/merge.h"

namespace systole::keras::layers {

// Inserts axes of size 1 after the batch until all ranks are equal. Errors: INVALID_ARGUMENT for
// fewer than two inputs, other batch sizes and shapes that do not broadcast.
std::vector<Output> aligned_inputs(const std::string& layer, const std::vector<Output>& inputs);

// Gives `result` the AND of the inputs' masks; none when no input has one.
void set_common_mask(CallContext& context, const std::vector<Output>& inputs, const Output& result);

// `Derived` has kClassName and static Output merge(const std::vector<Output>& inputs).
template <class Derived>
class ElementwiseMerge : public LayerOf<Derived, MergeOptions> {
 public:
  static std::vector<Field<MergeOptions>> fields() { return {}; }
  explicit ElementwiseMerge(MergeOptions options)
      : LayerOf<Derived, MergeOptions>(std::move(options)) {}
  MaskSupport mask_support() const override { return MaskSupport::custom; }
  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const Output y = Derived::merge(aligned_inputs(this->name(), inputs));
    set_common_mask(context, inputs, y);
    return {y};
  }
};

}  // namespace systole::keras::layers
