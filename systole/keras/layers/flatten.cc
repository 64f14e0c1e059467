#include "systole/graph/api/array_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/core.h"

namespace systole::keras::layers {
namespace {

class FlattenLayer : public LayerOf<FlattenLayer, FlattenOptions> {
 public:
  static constexpr std::string_view kClassName = "Flatten";
  static std::vector<Field<FlattenOptions>> fields() {
    using O = FlattenOptions;
    return {field("data_format", &O::data_format)};
  }

  explicit FlattenLayer(FlattenOptions options) : LayerOf(std::move(options)) {
    input_specs_ = {{.min_ndim = 2}};
  }
  std::vector<Output> call(CallContext&, const std::vector<Output>& inputs) override {
    Output x = inputs.at(0);
    const int rank = x.shape().rank();
    if (options_.data_format == "channels_first" && rank > 2) {
      std::vector<int64_t> perm{0};
      for (int axis = 2; axis < rank; ++axis) perm.push_back(axis);
      perm.push_back(1);
      x = transpose(x, {.perm = perm});
    }
    int64_t features = 1;
    for (int axis = 1; axis < rank; ++axis) {
      const int64_t size = x.shape()[axis];
      if (size < 0) {
        throw invalid_argument(
            "The shape of the input to \"Flatten\" is not fully defined (got {}): give the model's "
            "first layer an input_shape without unknown sizes",
            x.type());
      }
      features *= size;
    }
    return {reshape(x, {-1, features})};
  }
};

}  // namespace

LayerClass flatten_class() { return layer_class<FlattenLayer, FlattenOptions>(); }

Flatten::Flatten(FlattenOptions options, Where where)
    : Layer(make_layer<FlattenLayer>(std::move(options), where)) {}

}  // namespace systole::keras::layers
