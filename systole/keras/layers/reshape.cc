#include "systole/graph/api/array_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/core.h"

namespace systole::keras::layers {
namespace {

class ReshapeLayer : public LayerOf<ReshapeLayer, ReshapeOptions> {
 public:
  static constexpr std::string_view kClassName = "Reshape";
  static std::vector<Field<ReshapeOptions>> fields() {
    using O = ReshapeOptions;
    return {required("target_shape", &O::target_shape)};
  }

  explicit ReshapeLayer(ReshapeOptions options) : LayerOf(std::move(options)) {
    input_specs_ = {InputSpec{}};  // one, of any shape
  }
  std::vector<Output> call(CallContext&, const std::vector<Output>& inputs) override {
    const Output& x = inputs.at(0);
    int64_t total = 1;
    for (int axis = 1; axis < x.shape().rank(); ++axis) total *= x.shape()[axis];
    std::vector<int64_t> sizes = options_.target_shape;
    int64_t known = 1;
    int64_t unknown = -1;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] >= 0) known *= sizes[i];
      if (sizes[i] < 0 && unknown >= 0) {
        throw invalid_argument("Reshape: target_shape, can only specify one unknown dimension");
      }
      if (sizes[i] < 0) unknown = static_cast<int64_t>(i);
    }
    const bool fits = unknown < 0 ? known == total : known > 0 && total % known == 0;
    if (!fits) {
      throw invalid_argument(
          "total size of new array must be unchanged: got {} elements for a "
          "target_shape of {} elements",
          total, known);
    }
    if (unknown >= 0) sizes[unknown] = total / known;
    sizes.insert(sizes.begin(), -1);
    return {reshape(x, sizes)};
  }
};

}  // namespace

LayerClass reshape_class() { return layer_class<ReshapeLayer, ReshapeOptions>(); }

Reshape::Reshape(std::vector<int64_t> target_shape, ReshapeOptions options, Where where)
    : Layer([&] {
        options.target_shape = std::move(target_shape);
        return make_layer<ReshapeLayer>(std::move(options), where);
      }()) {}

}  // namespace systole::keras::layers
