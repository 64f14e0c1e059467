#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/keras/base/counters.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/core.h"
#include "systole/keras/layers/noise_shape.h"

namespace systole::keras::layers {
namespace {

class DropoutLayer : public LayerOf<DropoutLayer, DropoutOptions> {
 public:
  static constexpr std::string_view kClassName = "Dropout";
  static std::vector<Field<DropoutOptions>> fields() {
    using O = DropoutOptions;
    return {required("rate", &O::rate), field("noise_shape", &O::noise_shape),
            field("seed", &O::seed)};
  }

  explicit DropoutLayer(DropoutOptions options)
      : LayerOf(std::move(options)), seed_(options_.seed ? *options_.seed : next_seed()) {
    input_specs_ = {InputSpec{}};  // one, of any shape
    if (!(options_.rate >= 0 && options_.rate < 1)) {
      throw invalid_argument("Dropout: rate, got {}, expected a number in [0, 1)", options_.rate);
    }
  }
  MaskSupport mask_support() const override { return MaskSupport::pass; }
  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const Output& x = inputs.at(0);
    if (!context.training() || options_.rate == 0) return {identity(x)};
    if (!options_.noise_shape) return {dropout(x, 1 - options_.rate, {.seed = seed_})};
    const Output noise = ones(noise_sizes(x, *options_.noise_shape), x.dtype());
    return {x * dropout(noise, 1 - options_.rate, {.seed = seed_})};
  }

 private:
  int64_t seed_;
};

}  // namespace

LayerClass dropout_class() { return layer_class<DropoutLayer, DropoutOptions>(); }

Dropout::Dropout(double rate, DropoutOptions options, Where where)
    : Layer([&] {
        options.rate = rate;
        return make_layer<DropoutLayer>(std::move(options), where);
      }()) {}

}  // namespace systole::keras::layers
