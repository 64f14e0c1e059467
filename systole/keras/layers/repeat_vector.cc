#include "systole/graph/api/array_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/core.h"

namespace systole::keras::layers {
namespace {

class RepeatVectorLayer : public LayerOf<RepeatVectorLayer, RepeatVectorOptions> {
 public:
  static constexpr std::string_view kClassName = "RepeatVector";
  static std::vector<Field<RepeatVectorOptions>> fields() {
    using O = RepeatVectorOptions;
    return {required("n", &O::n)};
  }

  explicit RepeatVectorLayer(RepeatVectorOptions options) : LayerOf(std::move(options)) {
    check_layer_size(kClassName, "n", options_.n);
    input_specs_ = {{.ndim = 2}};
  }
  std::vector<Output> call(CallContext&, const std::vector<Output>& inputs) override {
    return {tile(expand_dims(inputs.at(0), 1), {1, options_.n, 1})};
  }
};

}  // namespace

LayerClass repeat_vector_class() { return layer_class<RepeatVectorLayer, RepeatVectorOptions>(); }

RepeatVector::RepeatVector(int64_t n, RepeatVectorOptions options, Where where)
    : Layer([&] {
        options.n = n;
        return make_layer<RepeatVectorLayer>(std::move(options), where);
      }()) {}

}  // namespace systole::keras::layers
