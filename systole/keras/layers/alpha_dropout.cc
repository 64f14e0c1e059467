#include <cmath>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/keras/base/counters.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/noise.h"
#include "systole/keras/layers/noise_shape.h"

namespace systole::keras::layers {
namespace {

class AlphaDropoutLayer : public LayerOf<AlphaDropoutLayer, AlphaDropoutOptions> {
 public:
  static constexpr std::string_view kClassName = "AlphaDropout";
  static std::vector<Field<AlphaDropoutOptions>> fields() {
    using O = AlphaDropoutOptions;
    return {required("rate", &O::rate), field("noise_shape", &O::noise_shape),
            field("seed", &O::seed)};
  }

  explicit AlphaDropoutLayer(AlphaDropoutOptions options)
      : LayerOf(std::move(options)), seed_(options_.seed ? *options_.seed : next_seed()) {
    input_specs_ = {InputSpec{}};  // one, of any shape
    if (!(options_.rate >= 0 && options_.rate < 1)) {
      throw invalid_argument("AlphaDropout: rate, got {}, expected a number in [0, 1)",
                             options_.rate);
    }
  }

  MaskSupport mask_support() const override { return MaskSupport::pass; }
  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const Output& x = inputs.at(0);
    const double rate = options_.rate;
    if (!context.training() || rate == 0) return {identity(x)};
    const double scale = 1 / std::sqrt((1 - rate) * (1 + rate * kDropped * kDropped));
    const Output sizes = options_.noise_shape ? noise_sizes(x, *options_.noise_shape) : shape(x);
    const Output draw = random_uniform(sizes, {.dtype = x.dtype(), .seed = seed_});
    const Output kept = cast(greater_equal(draw, rate), x.dtype());
    return {(x * kept + (1.0F - kept) * kDropped) * scale - scale * kDropped * rate};
  }

 private:
  // The limit of selu at minus infinity.
  static constexpr double kDropped = -1.7580993408473766;
  int64_t seed_;
};

}  // namespace

LayerClass alpha_dropout_class() { return layer_class<AlphaDropoutLayer, AlphaDropoutOptions>(); }

AlphaDropout::AlphaDropout(double rate, AlphaDropoutOptions options, Where where)
    : Layer([&] {
        options.rate = rate;
        return make_layer<AlphaDropoutLayer>(std::move(options), where);
      }()) {}

}  // namespace systole::keras::layers
