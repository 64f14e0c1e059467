#include "systole/graph/api/array_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/core.h"

namespace systole::keras::layers {
namespace {

class ActivityRegularizationLayer
    : public LayerOf<ActivityRegularizationLayer, ActivityRegularizationOptions> {
 public:
  static constexpr std::string_view kClassName = "ActivityRegularization";
  static std::vector<Field<ActivityRegularizationOptions>> fields() {
    using O = ActivityRegularizationOptions;
    return {field("l1", &O::l1), field("l2", &O::l2)};
  }

  explicit ActivityRegularizationLayer(ActivityRegularizationOptions options)
      : LayerOf(std::move(options)) {
    input_specs_ = {InputSpec{}};  // one, of any shape
    set_activity_regularizer(regularizers::L1L2(options_.l1, options_.l2).function());
  }

  MaskSupport mask_support() const override { return MaskSupport::pass; }
  std::vector<Output> call(CallContext&, const std::vector<Output>& inputs) override {
    return {identity(inputs.at(0))};
  }
};

}  // namespace

LayerClass activity_regularization_class() {
  return layer_class<ActivityRegularizationLayer, ActivityRegularizationOptions>();
}

ActivityRegularization::ActivityRegularization(ActivityRegularizationOptions options, Where where)
    : Layer(make_layer<ActivityRegularizationLayer>(std::move(options), where)) {}

}  // namespace systole::keras::layers
