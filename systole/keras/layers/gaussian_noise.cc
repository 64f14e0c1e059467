#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/keras/base/counters.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/noise.h"

namespace systole::keras::layers {
namespace {

class GaussianNoiseLayer : public LayerOf<GaussianNoiseLayer, GaussianNoiseOptions> {
 public:
  static constexpr std::string_view kClassName = "GaussianNoise";
  static std::vector<Field<GaussianNoiseOptions>> fields() {
    using O = GaussianNoiseOptions;
    return {required("stddev", &O::stddev), field("seed", &O::seed)};
  }

  explicit GaussianNoiseLayer(GaussianNoiseOptions options)
      : LayerOf(std::move(options)), seed_(options_.seed ? *options_.seed : next_seed()) {
    input_specs_ = {InputSpec{}};  // one, of any shape
    if (!(options_.stddev >= 0)) {
      throw invalid_argument("GaussianNoise: stddev, got {}, expected at least 0", options_.stddev);
    }
  }

  MaskSupport mask_support() const override { return MaskSupport::pass; }
  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const Output& x = inputs.at(0);
    if (!context.training() || options_.stddev == 0) return {identity(x)};
    return {x + random_normal(shape(x),
                              {.stddev = options_.stddev, .dtype = x.dtype(), .seed = seed_})};
  }

 private:
  int64_t seed_;
};

}  // namespace

LayerClass gaussian_noise_class() {
  return layer_class<GaussianNoiseLayer, GaussianNoiseOptions>();
}

GaussianNoise::GaussianNoise(double stddev, GaussianNoiseOptions options, Where where)
    : Layer([&] {
        options.stddev = stddev;
        return make_layer<GaussianNoiseLayer>(std::move(options), where);
      }()) {}

}  // namespace systole::keras::layers
