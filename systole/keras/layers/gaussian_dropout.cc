#include <cmath>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/keras/base/counters.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/noise.h"

namespace systole::keras::layers {
namespace {

class GaussianDropoutLayer : public LayerOf<GaussianDropoutLayer, GaussianDropoutOptions> {
 public:
  static constexpr std::string_view kClassName = "GaussianDropout";
  static std::vector<Field<GaussianDropoutOptions>> fields() {
    using O = GaussianDropoutOptions;
    return {required("rate", &O::rate), field("seed", &O::seed)};
  }

  explicit GaussianDropoutLayer(GaussianDropoutOptions options)
      : LayerOf(std::move(options)), seed_(options_.seed ? *options_.seed : next_seed()) {
    input_specs_ = {InputSpec{}};  // one, of any shape
    if (!(options_.rate >= 0 && options_.rate < 1)) {
      throw invalid_argument("GaussianDropout: rate, got {}, expected a number in [0, 1)",
                             options_.rate);
    }
  }

  MaskSupport mask_support() const override { return MaskSupport::pass; }
  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const Output& x = inputs.at(0);
    if (!context.training() || options_.rate == 0) return {identity(x)};
    const double stddev = std::sqrt(options_.rate / (1 - options_.rate));
    return {x * random_normal(shape(x),
                              {.mean = 1.0, .stddev = stddev, .dtype = x.dtype(), .seed = seed_})};
  }

 private:
  int64_t seed_;
};

}  // namespace

LayerClass gaussian_dropout_class() {
  return layer_class<GaussianDropoutLayer, GaussianDropoutOptions>();
}

GaussianDropout::GaussianDropout(double rate, GaussianDropoutOptions options, Where where)
    : Layer([&] {
        options.rate = rate;
        return make_layer<GaussianDropoutLayer>(std::move(options), where);
      }()) {}

}  // namespace systole::keras::layers
